"""The lines of every summary, by their code, and the columns of its tables.

A line is a template as in `scalinglab.results.sentences`, filled with the details of a `Reason`. A table
has a template a column, by its head; cells stand to the right, under a head that begins with "<" to the left.
"""

from __future__ import annotations

ENDS = "{of.value:.3g}, 95 % [{of.low:.3g}, {of.high:.3g}]"

LINES = {
    "note": "note: {note}",
    "inside": "  {of}",
    "blank": "",
    "more": "more:",
    "more_command": "    {line}",
    "name": "{of}",
    "by_kind": "Ten times as much, by kind, with 95 % intervals:",
    "ends": ENDS,
    "ends_short": "{of.value:.3g} [{of.low:.3g}, {of.high:.3g}]",
    # fits
    "law": "{form}: {equation}",
    "surface": "{form}: {equation}   ({variables:,})",
    "fitted_points": "{points} points at {sizes} sizes",
    "fitted_curve": "{points} points at {sizes} sizes, x = {first:.4g} … {last:.4g}",
    "parameter": "{name:<14} {value:<12.6g} 95 % [{low:.4g}, {high:.4g}]",
    "parameter_with_error": "{name:<14} {value:<12.6g} ± {stderr:<10.3g} 95 % [{low:.4g}, {high:.4g}]",
    "parameter_with_median": "{name:<14} {value:<12.6g} median {median:<8.3g} 95 % [{low:.4g}, {high:.4g}]",
    "parameter_doubtful": "{name:<14} {value:<12.6g} 95 % [{low:.4g}, {high:.4g}]  not identified",
    "parameter_open": "{name:<14} not determined; 95 % {range}",
    "parameter_given": "{name:<14} {value:<12.6g} {given}",
    "parameter_follows": "{name:<14} {value:.6g}",
    "fixed": "fixed",
    "tied": "tied to {to}",
    "any_value": "any value",
    "at_most": "at most {high:.3g}",
    "at_least": "at least {low:.3g}",
    "anything_from": "anything from {low:.3g} to {high:.3g}",
    "scatter_of_logs": "residual std   {std:.3g} of ln y with {dof:#degree} of freedom",
    "scatter_of_values": "residual std   {std:.3g} of y with {dof:#degree} of freedom",
    "forms_averaged": "forms          predictions and optimum average {weights:,}",
    "intervals_profile": "intervals      profile likelihood",
    "intervals_bootstrap": "intervals      bootstrap over runs",
    "intervals_none": "intervals      {why}",
    "convergence": (
        "convergence    {agree:%%} of {starts} starts agree on this optimum; condition number of the "
        "parameters {condition:.2g}{lost}{stopped}"
    ),
    "ill_conditioned": " (above 1e6: some are NOT determined)",
    "not_converged": "; NOT converged",
    "at_a_bound": "at a bound     {parameters:,}: not determined by these data",
    "not_identified": "NOT IDENTIFIED: {why}",
    "lack_of_fit": "lack of fit: {why}",
    # predictions
    "predicted": "{y} {value:.4g} ({level:%%}: {low:.4g} to {high:.4g}) at {place}{far}{assumed}",
    "if_form_holds": ", if this form holds",
    "sizes": "{sizes:.4g}",
    "beyond_run": ", {times:.3g} times the largest run",
    "beyond_size": "   {times:.3g} times the largest size",
    "beyond_search": ", {times:.3g} times the largest search",
    "extrapolated": "{x:>12.4g}  {mean:<10.4g} {level:%%} {low:.4g} … {high:.4g}{far}",
    "one_law": (
        "{sizes} sizes or fewer: one power law with an offset; the interval holds if the curve follows it, "
        "for points as noisy as these (single runs are noisier than means or smoothed points)"
    ),
    "weight": "{name} {weight:.2f}",
    "weights": "weights: {weights:,}, …",
    "backtests": "backtests: {cuts} cuts, error {error:.3g} of ln y (repeating the last value {last:.3g})",
    "tally": (
        "{scored} scored: {calibration:%%} lie in their {level:%%} intervals, median half-width "
        "{sharpness:.3g} of ln y, error {rmsle:.3g}"
    ),
    "final_loss": (
        "final loss {value:.4g}   {level:%%} [{low:.4g}, {high:.4g}]   {fraction:%%} of the run is done, "
        "{remaining:.6g} steps are left"
    ),
    "off_track": "alarm: the loss has left the band [{low:.4g}, {high:.4g}] that is expected of it",
    "score_fit": "{score}: a sigmoid in the loss from {chance:.4g} (chance) to {best:g}, {runs} runs",
    "score_curve": (
        "  {name:<16} {first:.4g} … {last:.4g}, weight {weight:.2f}, scatter of the score {scatter:.2g}, "
        "ceiling {low:.3g} … {high:.3g}"
    ),
    "score_refused": "  no prediction: {why}",
    "score_at": "  at {at:.4g}: {loss}{answer}{far}",
    "score_loss": "{name} {value:.4g}, ",
    "score_value": "{score} {value:.4g}   {level:%%} [{low:.4g}, {high:.4g}]",
    "score_none": "no {score}: {why}",
    "score_beyond": "   {times:.3g} times the largest run",
    # comparisons and plans
    "speedup": (
        "A needs {low:.3g} to {high:.3g} times less compute than B{where} ({level:%%}; best estimate "
        "{factor:.3g} times)"
    ),
    "slowdown": (
        "A needs {low:.3g} to {high:.3g} times the compute of B{where} ({level:%%}; best estimate "
        "{factor:.3g} times)"
    ),
    "no_speedup": (
        "no significant difference: A needs {low:.3g} to {high:.3g} times the compute of B{where} "
        "({level:%%})"
    ),
    "at_compute": " at a compute of {at:….3g}",
    "optimum_head": "{head:>10}{n_params:>23}{n_data:>23}{loss:>23}",
    "optimum_row": "{head:>10}{n_params:>23.3g}{n_data:>23.3g}{loss:>23.3g}",
    "optimum_ends": "{level:>10}{n_params:>23}{n_data:>23}{loss:>23}",
    "level": "{level:%%}",
    "span": "{low:.3g} … {high:.3g}",
    "data_per_parameter": "          {ratio:.3g} {data} per parameter",
    "optimum_beyond": "          {times:.3g} times the largest compute measured",
    "optimum_below": "          {times:.3g} times less than the smallest compute measured",
    "optimum_fit": (
        "fit: the optimum of the fitted law; the median and interval above it also allow for errors in the "
        "form"
    ),
    "inference": (
        "loss {loss:.4g} (95 %: {low:.4g} to {high:.4g}) and {used:.3g} {unit} of inference: "
        "{n_params:.3g} parameters on {n_data:.3g} {unit}, {cost:.3g} FLOPs in all{far}; the "
        "compute-optimal model ({n:.3g} on {d:.3g}) would cost {more:.1f} % more"
    ),
    "inference_beyond": (
        ", training {times:.3g} times the largest compute measured, if the exponents stay the same"
    ),
    "amount": "{of:amount}",
    "the_largest_size": "the largest size so far",
    "times_the_largest_size": "{times:g} times the largest size so far",
    "for_amount": ", for {of:amount},",
    "in_all": "{of:amount} in all{beyond}",
    "its_amount": "its {of:amount}{beyond}",
    "beyond_largest": ", {times:.2g} times the largest run,",
    "it_beyond": "at {times:.2g} times the largest run it",
    "it": "it",
    "they": "they",
    "prediction": "prediction",
    "prediction_of": "prediction of {of}",
    "plan_at": "{what} at {place:.3g}: {value:.4g} ± {before:%%} (95 %)",
    "plan_at_places": "{what} at {places:#place}: ± {before:%%} (95 %, root mean square)",
    "plan_cost": "costs {cost:.3g} of {budget:.3g} {unit}; holds if the trend continues",
    "worth_it": "worth it: {change}",
    "not_worth_it": "not worth it: {change}",
    "still_straight": "yes: {why}",
    "no_more_straight": "no: {why}",
    "perhaps_straight": "cannot tell: {why}",
    "settings_at": "at {at:.4g}{far}",
    "regret": (
        "a run there ends {value:.2f} % above the best of a search ({level:%%} {low:.2f} … {high:.2f} %)"
    ),
    "power_of_sizes": "{name} ∝ {powers: ·}",
    "power_of_size": "{size}^{power:.3f}",
    "powers": "{powers:;}",
    "not_certified": "not tested: without the largest sizes too few searches are left",
    "certified": (
        "{verdict}: tested on the largest {sizes:#size}, each predicted from sizes at least {factor:.3g} "
        "times smaller in {along: ·}: {covered} of {values} best values lie inside their intervals; the "
        "proposed settings cost {regret:.2f} % over the best loss, those of the next smaller size "
        "{copied:.2f} %"
    ),
    # mixtures
    "share": "{share:>6.1f} %  {name}",
    "mixture_loss": "loss {value:.4g}   {level:%%} [{low:.4g}, {high:.4g}]   best run {best:.4g}",
    "mixture_like": "the mixture to compare: {value:.4g}   [{low:.4g}, {high:.4g}]",
    "mixture_beyond": "{asked:.4g} is beyond the runs: mixture and loss are those at {sizes:.4g}",
    "mixtures": "{y} of {runs} mixtures of {domains} domains{sizes}",
    "and_sizes": " and {sizes}",
    "mixtures_left_out": (
        "cross-validated: a run is predicted within {error:.2f} %, rank correlation {rank:.4f}"
    ),
    "mixtures_matter": "it depends most on {domains:,}",
    # schedules
    "schedule_fit": "{form}: L = {equation}   ({doc})",
    "schedule_points": "  {points} points of {runs:#run}",
    "schedule_parameter": "  {name:<14} {value:.6g}",
    "schedule_misfit": "  misfit         {misfit:.3g} of ln loss",
    "schedule_average": "  predictions are the average of this law's and those of {other}",
    "one_schedule": (
        "one run does not show how past learning rates matter; fit runs of two or three schedules"
    ),
    # noise
    "noise_edge": "* the interval reaches the end of the search: the optimum may lie outside",
    "noise_edge_left_out": (
        "* the interval reaches the end of the search: the optimum may lie outside; not used in the lines "
        "below"
    ),
    "width_is": "w is {column}",
    "width_unit": "w is {column}, {unit}",
    "proportional": (
        "{x} = a w: a = {a.value:.4g}, 95 % [{a.low:.4g}, {a.high:.4g}], R² = {r_squared:.3f}"
    ),
    "noise_power": "{x} ∝ w^p: p = {of.value:.3g}, 95 % [{of.low:.3g}, {of.high:.3g}]",
    "noise_no_verdict": "no verdict: {why}",
    "noise_cannot_tell": "cannot tell whether p = {claim:g}: {why}",
    "noise_verdict": "p = {claim:g} {verdict}: {why}",
    "by_batch": "search over batch sizes:",
    "by_rate": "search over learning rates:",
    "batch_over_rate": "a by batch over a by rate: " + ENDS,
    "batch_minus_rate": (
        "best by batch minus best by rate: {of.value:.2g}, 95 % [{of.low:.2g}, {of.high:.2g}]"
    ),
    "stable_power": "largest stable rate ∝ {column}^c{unit}: c = " + ENDS,
    "in_brackets": " ({text})",
    "outside_search": "outside the search",
    "over_time": "from half the training time to its end: {verdict}",
    # learning curves
    "collapse_by_position": (
        "by position  divided by place of the falling part, height of the minimum"
    ),
    "collapse_by_optimum": "by optimum   divided by place and height of the minimum",
    "collapse_extent": "from {size:,.10g}{unit} up ({holding} of {sizes} sizes)",
    "collapse_nowhere": "for no three sizes",
    "collapse_holds": "holds        {extent}; outliers: {outliers:,.10g}",
    "collapse_holds_all": "holds        {extent}; outliers: none",
    "collapse_deviation": "deviation    at most {worst:.2g} % from the master curve of the others",
    "collapse_none": "deviation    no master curve to deviate from",
    "collapse_quality": "quality      {quality:.3g}   (1: within the noise)",
    "collapse_x": "x scale      n^a,  a = {power}",
    "collapse_y": "y scale      n^−b, b = {power}",
    "gamma_1": "gamma_1          {value!s:<18} early phase, mean of {sizes} sizes",
    "gamma_2": "gamma_2          {value!s:<18} best norm against size, from the collapse",
    "gamma_2_optimum": "                 {value!s:<18} best norm against size, from the raw optima",
    "gamma_measured": "gamma_measured   {value!s:<18} smallest error against size",
    "gamma_predicted_optimum": "gamma_predicted  {value!s:<18} gamma_1 · gamma_2 of the optima: {verdict}",
    "gamma_predicted": (
        "                 {value!s:<18} gamma_1 · gamma_2 of the collapse: {verdict} (nearly circular)"
    ),
    "dynamical_sigma": "sigma            {value:<18.3g} of the last difference",
    "dynamical_collapse": "collapse         {extent}",
    # runs and networks
    "explained": (
        "{n_data:g} examples, {steps:g} steps{width:, width .4g}: test loss {mean:.4g} ({low:.4g} to "
        "{high:.4g} at {level:%%}; descent with its kernel {kernel:.4g})"
    ),
    "flops": "{n_params:,} parameters, {forward:.4g} FLOPs forward, {step:.4g} a training step",
    "flops_layer": "  {name:40} {flops:12.4g}",
    "dimension": "intrinsic dimension {value:.3g} ± {stderr:.2g} ({method}, {points} points)",
    "margins": "{margins} margins, error {error:.4f}, log complexity {log_complexity:.5g}",
    "margin_quantile": "{level:5.0f} %  raw {raw:10.4g}   normalised {normalised:10.4g}",
    "complexity": "spectral complexity ({definition})  R = {value:.6g}   log R = {log:.6g}",
    "assumed": "assumed: {text}",
    "within_radius": "holds for inputs of length at most {radius:.4g}",
    "not_known": "not known: {what}",
    "from_weights": "from its weights",
    # kernels and theories
    "kernel": "kernel on {inputs} inputs: {modes} modes resolved; {predictable}",
    "targets_zero": "the targets are all zero",
    "predictable": "predicting each input from the others leaves {left:.3g} of the target's power",
    "tail": "{name}: {value:.3g} ({low:.3g} to {high:.3g}) over modes {first} to {last}",
    "tail_refused": "{name}: {why}",
    "tail_b": "b, λ_k ~ k^-b",
    "tail_a": "a, λ_k w_k² ~ k^-a",
    "time_limited": "time-limited   (N, P → ∞): L ~ t^-{power:.4g}",
    "data_limited": "data-limited   (t, N → ∞): L ~ P^-{power:.4g}",
    "params_limited": "params-limited (t, P → ∞): L ~ N^-{power:.4g}",
    "compute_limited": (
        "compute-optimal (P → ∞): L ~ C^-{power:.4g} with N ~ C^{params:.4g}, t ~ C^{time:.4g}"
    ),
    "saturated": "limited by the spectrum, not by the task: {limits:,}",
    "random_features": (
        "random features, {spectrum}: n_params {n_params:g}, n_data {n_data:g}, noise {noise:g}, {dynamics}"
    ),
    "no_times": "no times were asked for",
    "losses_at": "time {time:g}: test loss {test:.6g}, train loss {train:.6g}",
    "smallest_loss": "smallest test loss {test:.6g} at time {time:g}",
    "kernel_regression": (
        "kernel regression, {modes} modes: loss {high:.4g} to {low:.4g} over n_data = {first:.4g} to "
        "{last:.4g}"
    ),
    "kernel_no_sizes": "kernel regression, {modes} modes: no sizes were asked for",
    "margins_at": (
        "load {load:g}, sharpness {sharpness:g}: mean {mean:.4g}, 1 % {low:.4g}, median {median:.4g}, 99 % "
        "{high:.4g}, < 0: {error:.3g}"
    ),
    "fixed_norm": "fixed-norm perceptron, {points} points: error {error}, equations hold to {worst:.1g}",
    "fixed_norm_none": "fixed-norm perceptron: no points were asked for",
    "one_error": "{low:.6g}",
    "errors": "{low:.6g} to {high:.6g}",
    "best_sharpness": "load {load:g}: best sharpness {sharpness:.9g}, error {error:.9g}",
    # data sets and sweeps
    "dataset": "{name}: {n_data} training and {n_test} test inputs of {shape}, {outputs} {kind}",
    "runs_by_status": "{runs:#run}: {counts:,}",
    "status_count": "{runs} {status}",
    "failed_run": "  {run}: {why}",
    "failed_run_of": "  {run} {setting}: {why}",
    "retry_failed": "try the failed ones again with --retry-failed (retry_failed=True)",
    "quarantined": "damaged, moved to {path}: {why}",
    "workers_died": "{times:#worker} died and the work was restarted: {cause}",
    "runs_left": (
        "{runs:#run} left unfinished: the worker was lost {losses} times in a row without a new checkpoint "
        "(out of memory?); sweep again to continue"
    ),
    "run_elsewhere": "1 run is being written by another process: sweep again when it has ended",
    "runs_elsewhere": "{runs} runs are being written by another process: sweep again when it has ended",
    "interrupted": "interrupted: sweep again to continue",
    "sweep_plan": "{runs:#run}: {done} done, {failed} failed before, {missing} to do",
    "sweep_tasks": (
        "{tasks:#task} of up to {largest:#run} on {workers:#worker}, each within about {memory:.0f} MB"
    ),
    "sweep_failed": "runs that failed before are left alone; retry_failed does them again",
    # doubts on a table
    "audit": "{doubts:#doubt} on {rows} of {of} rows; checked: {checked:,}",
    "audit_of_nothing": "nothing checked: the {of} rows lack the columns of every check",
    "audit_unchecked": "not checked, columns missing: {checks:,}",
    "doubt": "{what}",
    "doubt_changes": "  effect: {what} is {before:.3f} with these rows, {after:.3f} without",
    "doubt_changes_nothing": "  effect: does not change {what}, {before:.3f}",
    "doubt_changes_count": "  effect: {what} is {before:.3f} by one count, {after:.3f} by another",
    "doubt_mend": "  fix: {how}",
    "doubt_rows": "  rows: {rows:,}",
    "doubt_many_rows": "  rows: {rows:,} … ({of} rows)",
}  # fmt: skip

_OF_POWER = "{p.value:.2f} [{p.low:.2f}, {p.high:.2f}]"

_OF_KIND = {"<kind": "{kind}", "at": "{at}", "y": "{y}"}

TABLES: dict[str, dict[str, str]] = {
    "kinds": _OF_KIND, "kinds_of_models": {**_OF_KIND, "n_params": "{n_params}", "n_data": "{n_data}"},
    "approaches": {
        "<approach": "{name}", "a, N ∝ C^a": "{exponent:.3f} {exponent_ends}", "bias of a": "{bias}",
        "n_params": "{n_params:.3g} {n_params_ends}", "n_data": "{n_data:.3g}",
    },
    "plan": {"seeds": "{seeds}", "cost": "{cost:.3g}", "then ±": "{after:%%}"},
    "settings": {
        "setting": "{name}", "best": "{value:.3g}", "low": "{low:.3g}", "high": "{high:.3g}",
        "half": "{half:+.2f} %", "twice": "{twice:+.2f} %",
    },
    "noise": {
        "w": "{w:g}", "optimum": "{noise:.4g}", "95 %": "[{first:.3g}, {last:.3g}]",
        "best interval": "[{low:.4g}, {high:.4g}]", "best": "{best:.4f} ± {error:.4f}{edge}",
    },
    "noise_and_width": {
        "width": "{width:.3g}", "w": "{w:g}", "optimum": "{noise:.4g}", "95 %": "[{first:.3g}, {last:.3g}]",
        "best interval": "[{low:.4g}, {high:.4g}]", "best": "{best:.4f} ± {error:.4f}{edge}",
    },
    "stability": {"w": "{w:g}", "largest stable rate": "{rate:.4g}", "95 %": "{ends}"},
    "over_time": {
        "share of T": "{share:g}", "optimum / that at T": "{ratio}", "a": "{slope:.4g}", "p": _OF_POWER
    },
    "norms": {
        "<layer": "{name}", "<kind": "{kind}", "spectral": "{spectral}", "(2,1)": "{rows}",
        "share": "{share}", "error": "{error}",
    },
}  # fmt: skip
