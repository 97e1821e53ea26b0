"""The sentence of every reason and note, by its code.

A sentence is a template. Its fields are the details of the reason, written as Python's `format` does, and
with these formats as well:

    {size:count}    1.33B                       {runs:#run}     3 runs
    {share:%%}      4.2 % of 0.042              {width:two}     two digits
    {names}         a, b and c for a tuple, {names:or} a, b or c; columns by the names that the caller gives
    {chance:sure}   93 %, or > 99 %
    {p:p}           p = 0.012, or p < 0.001 below what tests by draws resolve
    {notes:;}       a; b; c for a tuple, {names:,} a, b, c, {powers: ·} a · b · c
    {sizes:,.10g}   1,000, 2,000 for a tuple of numbers, {sizes:….3g} 1e+03 … 2e+03
    {form:form}     a sum of two power laws, for chinchilla
    {at:count}      n_params = 1.33B, n_data = 2B for sizes by column
    {error: ± .3f}  text before a number, both left out where the number is None or 0

Sentences begin with a small letter and have no full stop, so that they can stand after "Not determined: ".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from scalinglab.support.words import amount, count, counted, two_digits, without_nan


class Column(str):
    """The name of a column among the details of a reason; sentences call it by what it counts."""

    __slots__ = ()


REASONS = {
    "message": "{text}",  # an error that has only its sentence
    "no_number": "these data give no number for {of}",
    # searches over settings
    "valley_flat": (
        "the loss has no minimum along {setting}: try values on both sides of the best one, at least a "
        "factor of two apart"
    ),
    "few_searches": (
        "only {searches} of the searches over {settings} have their best run inside the grid; {needed} are "
        "needed: {widen}search at more sizes, with three or more values of each setting"
    ),
    "widen_grids": (
        "widen the grid of {settings}, whose best value is at its edge, search the other settings only "
        "(--settings), or "
    ),
    "searches_at_edge": (
        "left out: {searches} of {of} searches, whose best run is at the edge of the grid; their optimum "
        "may lie outside"
    ),
    "setting_open": (
        "{setting} is only known to lie between {low:.2g} and {high:.2g}: search at more sizes, closer to "
        "the target"
    ),
    "nothing_searched": (
        "no size was run with three or more values of a setting ({settings}): vary one of them at several "
        "sizes"
    ),
    "one_size_searched": (
        "all searches are at {size} = {value:.4g}, so nothing can be said about {at:.4g}: search at other "
        "sizes, too"
    ),
    "runs_not_counted": "left out: {runs:#run} without a finite positive loss, size and setting",
    "sizes_not_searched": "left out: {sizes:#size} with too few runs for a search",
    # mixtures
    "few_mixtures": "only {runs} different mixtures; {needed} are needed, three more than there are domains",
    "mixture_outside": (
        "no blend of the mixtures that were trained meets the constraints: train on mixtures outside their "
        "range first, or loosen the constraints"
    ),
    "mixture_unsupported": (
        "the best mixture lies where the loss is {distance:.2g} times more uncertain than at any run: "
        "train on mixtures near it first, or bound the shares"
    ),
    "loss_constant": "{y} is the same in every run",
    # rows
    "left_out_size": "left out: {points:#point} without a positive size",
    "left_out_value": "left out: {runs:#run} without a usable {y}",
    "left_out_stopped": "left out: {runs:#run} that stopped early; a run of the same settings went on",
    "read": "read {text}",  # what was understood of a table
    "small_sizes": (
        "{column} runs from {low:.4g} to {high:.4g}: {unit} in millions or billions? Put the unit into the "
        "name of the column, as in '{unit} (M)'; if they are counts as they stand, say so: --x {sizes}"
    ),
    "small_n": (
        "{column} runs from {low:.4g} to {high:.4g}: training examples (--column n_data=N), or parameters in "
        "millions or billions? Put the unit into its name, as in 'N (M)'; if they are parameters as they "
        "stand, say so: --x {sizes}"
    ),
    "numbers_lost": (
        "{lost} of the {of} results in this file could not be assigned to a row ({shown:,}, …): name every "
        "column, and give each run one row"
    ),
    "tokens_of_a_param": (
        "{per:.3g} tokens per parameter: is one of the two in thousands, millions or billions? Put the "
        "unit into the name of its column; if they are counts as they stand, say so: --x {sizes}"
    ),
    "flops_of_a_param": (
        "compute is {ratio:.3g} times 6 · parameters · tokens: is one of the three in another unit? Put it "
        "into the name of the column, as in 'compute (PFLOPs)'; if they are right as they stand, say so: "
        "--x {sizes}"
    ),
    "unknown_unit": (
        "the unit in {column} is not recognised: write thousand, million or billion, or give the numbers in "
        "full; if they are counts as they stand, say so: --{what} {first}"
    ),
    "rows_of_runs": (
        "every run has rows for {values} values of {column}, and no step tells them apart: choose one "
        "(--where {first})"
    ),
    "rising_rows": (
        "rows of one {sizes} rise in {column}: if they are checkpoints of one run, say so (--column "
        "'step={column}'); if {column} is a setting, choose one value (--where {column}=…)"
    ),
    "other_lengths": (
        "runs of one size end at steps from {first:count} to {last:count}, and no column says how much data "
        "each saw: name it (--column n_data=COLUMN), or take the steps as a size: --x n_params,step"
    ),
    "sizes_lacking": (
        "{lost} of {rows} results have no {sizes}: fill them in, or drop these rows by naming the size: "
        "--x {sizes}"
    ),
    "other_size": (
        "which column is the size? By its values it may be {column} or {others:,}: choose one with x= "
        "(--x {first})"
    ),
    "size_unread": (
        "{others:,} is called a size and has values that do not read as numbers: correct them, or say that "
        "{column} is the size: --x {first}"
    ),
    "other_result": (
        "which column is the result? It may be {column} or {others:,}: choose one with y= (--y {first})"
    ),
    "no_loss": (
        "{y}, from {low:.4g} to {high:.4g}, cannot be a loss in nats per token: is it a perplexity, a "
        "percentage or a sum? Say so in the name of the column, or take it as it is with y= (--y)"
    ),
    "difference_as_result": (
        "which column is the result? {y} is a difference or a ratio: name what was measured with y= (--y)"
    ),
    "setting_as_result": "which column is the result? {y} is a setting: name what was measured with y= (--y)",
    "does_not_follow": (
        "{y} hardly depends on {sizes}, which explains {explained:.0%} of its ranking: if these are the "
        "result and the size, name them: --y and --x {sizes}{search}"
    ),
    "other_flops": (
        "compute in the table is {ratio:.3g} times {per:g} · parameters · {unit}, which is used here; laws "
        "surface, plan optimal and plan next use the table's count with --flops-per-param-example "
        "{theirs:.3g}"
    ),
    "rows_as_runs": (
        "each row counts as a run of its own; if rows of one size are checkpoints of one training, "
        "intervals are too narrow: name the column that identifies the run, as in --column run={column}"
    ),
    "value_missing": "{name} is missing",
    "value_infinite": "{name} is infinite",
    "value_negative": "{name} = {value:g} is negative",
    "value_not_positive": "{name} = {value:g} is not positive",
    "at_point": "point {point}: {why}",
    "unusable": (
        "{points:#point} cannot be used ({named:;}): drop them (nan_policy='drop', on the command line "
        "--drop-bad) or correct them"
    ),
    "never_positive": (
        "all {points} values of {y} are zero or negative, and a power law needs positive values: give the "
        "loss itself, or allow a floor below zero (laws surface --space raw --bounds E=-10:0)"
    ),
    "unusable_y": (
        "{points:#point} cannot be used ({named:;}): drop them (nan_policy='drop', on the command line "
        "--drop-bad) or correct them; values of y that may be zero or negative can be fitted with "
        "space='raw' (--space raw), and an offset below zero with bounds={{'offset': (low, high)}}"
    ),
    "dropped": "{dropped} of {points} points dropped: {why:;}",
    "copied_points": "{points:#exact repeat} of other points; drop them if they were read twice",
    "copies_counted_once": "{rows:#exact repeat} of other rows left out",
    "copies_counted_twice": "{rows:#exact repeat} of other rows counted; was a file read twice?",
    "last_rows": "used the last row of each run ({rows} of {of} rows)",
    "best_rows": (
        "used the {best} {y} of each run ({rows} of {of} rows); laws fit --reduce last or --reduce all "
        "changes that"
    ),
    "answered_by_kind": "each {columns} is fitted separately; to pool them: laws fit --mixed",
    "checkpoints": (
        "all runs end at the same amount of data, so their checkpoints at 1/2, 1/4, … of it are used, too"
    ),
    "weighted": "points are weighted by their standard errors, {column}",
    "error_missing": (
        "{column} is missing or zero in {lost} of {rows} rows, so all points have the same weight"
    ),
    "percent": "{y} was in percent and has been divided by 100",
    "settings_differ": (
        "runs of the same size differ in {column} ({values:,}); to use one value only: --where "
        "{column}={first}"
    ),
    "unknown_differs": (
        "runs of the same size differ in {column} ({values:,}); to use one value only: --where "
        "{column}={first}; if it is a size: --column n_params={column}"
    ),
    "also_explained": (
        "{y} also depends on {column} ({p:p}), which the law ignores; compare runs of the same {column}, "
        "or include it: --x {sizes},{column}"
    ),
    "diverged_count": "{runs:#diverged run} included; --where status=done leaves them out",
    "both_vary": "n_params and n_data both vary; a law of {x} alone holds only if both keep growing together",
    "recipes_alike": "no {recipe} has a better {y} beyond noise, so all {runs} runs are used",
    "best_recipe": (
        "only runs with the best {recipe} of each size are used ({runs} of {of}), judged by the {y} of the "
        "other sizes; to use all: mixed=True or laws fit --mixed"
    ),
    "lowest_recipe": (
        "only runs with the lowest {y} along {recipe} are used at each size ({runs} of {of}); to use all: "
        "mixed=True or laws fit --mixed"
    ),
    "lowest_of_search": (
        "every run has its own {recipe}, as in a random search, so only the lowest {y} of each size is "
        "used ({runs} of {of} runs); the minimum is biased slightly low; to use all: mixed=True or laws "
        "fit --mixed"
    ),
    "other_measured": "{y} is fitted; also measured: {others:,} (--y {first})",
    "best_of_single_runs": (
        "at {sizes:#size} the best {recipe} was picked from single runs and may only have been lucky; a "
        "second seed would show it"
    ),
    "outlier": (
        "one run looks wrong: {y} = {measured:.4g} at {at:count}, where the others suggest {expected:.4g}; "
        "check that row"
    ),
    "outlier_left_out": (
        "left out one run that looks wrong: {y} = {measured:.4g} at {at:count}, where the others suggest "
        "{expected:.4g}; check that row"
    ),
    "outlier_at_an_end": (
        "one run looks wrong: {y} = {measured:.4g} at {at:count}, where the others suggest {expected:.4g}; "
        "check that row, or, if the curve really breaks there, add sizes near it"
    ),
    "complement": "y rises with x and lies between 0 and 1, like an accuracy, so 1 - y is fitted",
    # a curve
    "bends_away": (
        "no single exponent: {y} bends away from a power law, with or without a floor, near {x} = {at:count}"
    ),
    "falls_faster": (
        "no single exponent: {y} falls faster and faster with {x}, which no power law does, with or without "
        "a floor"
    ),
    "no_fall": "{y} does not fall with {x} beyond its scatter",
    "exponent_open": "the exponent of {y} against {x} is not determined: {because}",
    "floor_assumed": "with {sizes:#size} the floor is assumed to be 0",
    "floor_open": "these runs do not determine the floor",
    # a law
    "form_without_a_floor": ("the form is {form}, without a floor: three sizes or fewer cannot show one"),
    "form": "the form is {form}",
    "form_beside_power_law": (
        "the form is {form}; without its floor the exponent would be {exponent:.3f}, and the fit "
        "would miss the runs by {scatter:%%}"
    ),
    "few_dof": (
        "with only {dof:#point} more than parameters the scatter is poorly known, and the interval may be "
        "too narrow; repeat sizes with other seeds"
    ),
    "no_exponent": "{form} has no exponent",
    "no_freedom_left": "{points} points for {parameters} parameters: no degrees of freedom are left",
    "exponent_from": (
        "any exponent from {low:.3g} up fits within the noise; take a simpler form, or points over a wider "
        "range"
    ),
    "exponent_up_to": (
        "any exponent up to {high:.3g} fits within the noise; take a simpler form, or points over a wider "
        "range"
    ),
    "exponent_of_any_size": (
        "exponents of any size fit within the noise; take a simpler form, or points over a wider range"
    ),
    "bends_off_the_form": (
        "lack of fit: the points bend away from the form near x = {at:.3g} ({p:p}); intervals allow for "
        "both continuations"
    ),
    "means_off_the_form": (
        "lack of fit: the means of repeated sizes do not follow the form ({p:p}); intervals that assume it "
        "are too narrow"
    ),
    "correlated": (
        "lack of fit: residuals are correlated across sizes ({p:p}); intervals allow for a correlation of "
        "{correlation:.2g} between neighbours"
    ),
    "noise_changes": (
        "noise changes with size, about as x^{power:.2g} ({p:p}); intervals allow for it; give error= where "
        "it is known"
    ),
    "residuals_bend": (
        "the runs bend away from the form ({p:p}); intervals of predictions allow for that, intervals of "
        "parameters do not"
    ),
    "sizes_share_errors": (
        "runs of the same size share an error ({chance:sure} likely), as when one size was tuned better; "
        "medians and intervals allow for it, fitted values do not"
    ),
    "seeds_as_one": (
        "seeds of one size may share an error ({chance:sure} likely), so they narrow the intervals less "
        "than separate sizes would"
    ),
    # a bend of a curve
    "straight": (
        "the local exponent stays near {exponent:.3f} (its change over these sizes: {low:+.3f} to "
        "{high:+.3f}, {p:p})"
    ),
    "bend_hidden": (
        "a constant exponent of {exponent:.2f} fits, but so does a change by {low:+.2g} to {high:+.2g} from "
        "the smallest to the largest run; more sizes or seeds would settle it"
    ),
    "flattens": "it flattens: the local exponent goes from {first:.3f} to {last:.3f} ({p:p})",
    "steepens": "it steepens: the local exponent goes from {first:.3f} to {last:.3f} ({p:p})",
    "floor_seen": (
        "it flattens: the fit is better with a floor ({p:p}), although a quadratic in the logarithms alone "
        "does not show it ({parabola:p})"
    ),
    "no_fall_seen": "it does not fall with size",
    "few_sizes_for_a_bend": "{sizes} sizes cannot show a bend: give four or more",
    "few_rows_to_search": (
        "{rows} rows are too few to search for a form: at least {needed} are needed, because later rows "
        "are predicted from earlier ones; or name a form (--form)"
    ),
    # a curve beyond its sizes
    "few_sizes": (
        "{sizes} sizes do not show whether the curve flattens, so nothing can be predicted beyond them: "
        "measure at least {needed} sizes, better 6, or assume a form (laws.fit, --form)"
    ),
    "noise_or_bend": (
        "the {sizes} sizes scatter by {scatter:%%} around E + A x^-c: from so few, noise and a bend look "
        "the same; repeat sizes with other seeds, measure 8 sizes or more, or assume a form (laws.fit, "
        "--form)"
    ),
    "still_steepens": (
        "the curve falls faster and faster over its {sizes} sizes ({p:p} for a power law with or without an"
        " offset), so nothing can be predicted beyond the largest; measure larger sizes, 8 or more in all, "
        "or assume a form (laws.fit, --form)"
    ),
    "too_far_beyond": (
        "the {sizes} sizes cover a factor of {covered:.2g}, which does not determine the curve at "
        "{beyond:.3g} times the largest; measure smaller sizes, too, or ask for at most {most:.2g} times "
        "the largest"
    ),
    "value_open": (
        "{points} points at {sizes} sizes do not determine the value at {at:.3g}, {beyond:.3g} times the "
        "largest size: anything from {low:.2g} to {high:.2g} fits; add sizes"
    ),
    "short_range": (
        "the {sizes} sizes cover only a factor of {covered:.2g} (less than {least:g}), so intervals beyond "
        "the largest are made {factor:.2g} times as wide, as published curves require; smaller sizes would "
        "narrow them"
    ),
    "smoothed": (
        "{repeated} of the {values} values repeat the one before and none rises, so they were smoothed (a "
        "running minimum) or rounded, and the remaining {left} do not show how the curve continues; give "
        "the measured values, or at least {needed} different ones"
    ),
    "rests_on_the_form": (
        "with {sizes} sizes, a prediction at {beyond:.3g} times the largest depends on the form: the "
        "interval holds if the curve follows E + A x^-c that far (some curves fall faster after an early "
        "plateau)"
    ),
    "made_monotone": (
        "y never rises, not even by noise, so it was probably smoothed; the band is wider to allow for that"
    ),
    "rose": (
        "y rises by {rise:.3g} % between x = {start:.4g} and {top:.4g} (double descent, or training that "
        "went wrong) and falls again: the band is widened for another such rise"
    ),
    "still_rises": (
        "y rises by {rise:.3g} % between x = {start:.4g} and {top:.4g} (double descent, or training that "
        "went wrong) and still rises at its end: the points do not show where it turns"
    ),
    # how much is needed
    "any_size": (
        "any {x}, according to this form: at {x} = {at:.3g} {y} is already {there:.4g}, below {target:g}"
    ),
    "any_size_of_error": (
        "any {x}, according to this form: at {x} = {at:.3g} {y} is already {there:.4g}, below {target:g}; "
        "for an accuracy give 1 − accuracy"
    ),
    "size_for": "{x} = {value:.4g} ({level:%%}: {low:.4g} … {high:.4g}) for {y} = {target:g}",
    "size_beyond": (
        "{x} = {value:.4g} ({level:%%}: {low:.4g} … {high:.4g}) for {y} = {target:g}; {beyond:.3g} times "
        "beyond the largest point"
    ),
    "never": ("never, according to this form: at {x} = {at:.3g} {y} is still {there:.4g}, above {target:g}"),
    "never_but_perhaps": (
        "never, according to this form: at {x} = {at:.3g} {y} is still {there:.4g}, above {target:g}; the "
        "{level:%%} interval contains {target:g} from {x} = {low:.4g} on"
    ),
    # a surface
    "fall_open": "these runs do not determine how {y} changes with {sizes}",
    "rises_with": "{y} rises with {size}",
    "passes_through": "a sum of two power laws goes through every run",
    "follows": (
        "a sum of two power laws fits the runs within {scatter:%%} (standard deviation), and they show no "
        "bend ({p:p})"
    ),
    "surface_bends": (
        "the residuals of a sum of two power laws ({scatter:%%}) change with size ({p:p}); intervals of "
        "predictions allow for that, intervals of exponents do not"
    ),
    "few_miss": (
        "without {count:#outlier} of {runs} runs, {low:%%} to {high:%%} off the law of the others, the "
        "exponents are {alpha:.3f} and {beta:.3f} in {sizes}"
    ),
    "another_form_predicts": "another form predicts the largest runs better than a sum of two power laws",
    "other_forms_weigh": (
        "predictions average several forms ({weights:,}), weighted by how well each predicts the largest "
        "runs; exponents are those of {form:form}"
    ),
    "other_form_weighs": (
        "predictions are those of {other:form}, which predicts the largest runs better than {form:form}, "
        "whose exponents are quoted"
    ),
    "mostly_scatter": (
        "the runs scatter by {scatter:%%} around a sum of two power laws, but differ from each other by only "
        "{spread:%%}"
    ),
    "few_runs_for_a_bend": (
        "the runs scatter by {scatter:%%} around a sum of two power laws; {runs:#run} are too few to test "
        "for a bend"
    ),
    "checkpoints_move_together": (
        "the runs scatter by {scatter:%%} around a sum of two power laws; checkpoints of one run are "
        "correlated, so they cannot test for a bend"
    ),
    "exponents_too_wide": (
        "a sum of two power laws fits the runs within {scatter:%%} (standard deviation), but its exponents "
        "are too uncertain to test for a bend"
    ),
    "sizes_move_together": (
        "runs of the same size lie on one side of a sum of two power laws ({chance:sure} likely): they share "
        "errors, or the law bends"
    ),
    # a surface that cannot be fitted
    "constant_size": (
        "{size} is {value:.4g} at every point: a surface needs several values of it; fit a law of the "
        "other variable instead (laws.fit)"
    ),
    "few_values": (
        "only {values} different values of {size}: two points of a curve determine neither its exponent "
        "nor its floor, so a surface needs at least 3, better 4 or more over a factor of 10"
    ),
    "sizes_on_a_line": (
        "{second} = {factor:.3g} · {first}^{power:.3g} at every point: what each contributes cannot be "
        "separated; add runs off this line, or fit a law along it (laws.fit)"
    ),
    "one_run": "all points are of one run: continue it, or train another size",
    "law_at_a_ratio": (
        "every run has {factor:.3g} {data} per parameter, so the law holds for that ratio; runs at other "
        "ratios would separate parameters from {data}"
    ),
    "law_along_a_line": (
        "{data} = {factor:.3g} · parameters^{power:.3g} in every run, so the law holds along that line; "
        "runs off it would separate parameters from {data}"
    ),
    "rate_falls": (
        "the learning rate falls to {part:%%} of its highest along this run, and that of a longer run would "
        "fall later, so this curve does not continue; laws schedule predicts the loss of other schedules"
    ),
    # an optimum
    "needs_both_sizes": "to find it, also vary the amount of data at each model size",
    "no_fall_in_fit": (
        "the loss does not fall with {size} in this fit, so no split of compute is best: add runs over a "
        "wider range of {size}, or drop those that hide it"
    ),
    "any_size_fits": (
        "these runs do not determine the compute-optimal {size}: any size fits within the noise; add runs "
        "at more sizes around the optimum"
    ),
    "loss_rises": (
        "the loss rises with {size}, so no split of compute is best, and more runs will not change that; "
        "look at the runs with the most {size} (repeated data, too high a learning rate, another unit)"
    ),
    "optimum_open": (
        "these {runs} runs do not determine {parameters} of {equation}, so no compute-optimal model "
        "follows from them: add runs at more sizes, over a wider range of {sizes}"
    ),
    # doubts of an audit, and how to mend them
    "audit_duplicates": "{study}duplicates: {count:#row} repeat others in size, compute or data, and loss",
    "mend_duplicates": "keep one of each; runs that were repeated on purpose need a seed or a name",
    "audit_few_points": (
        "{study}isoFLOP curves with few sizes: {curves:#budget} with fewer than {needed} sizes, too few to "
        "show a minimum"
    ),
    "mend_few_points": "run more sizes at these budgets, on both sides of the lowest loss, or leave them out",
    "audit_off_centre": (
        "{study}no minimum at {computes:,} FLOPs: towards {side} sizes the loss rises by less than its "
        "scatter"
    ),
    "mend_off_centre": "add sizes on that side until the loss rises again, or leave these budgets out",
    "audit_outlying": (
        "{study}outliers: {count:#run} more than five standard deviations ({scatter:.2g} of ln loss) off "
        "the parabola through the runs of equal compute, or far off the surface through all runs"
    ),
    "mend_outlying": (
        "check for divergence, a different setting or a typing error; repeat these runs or leave them out"
    ),
    "audit_other_flops": (
        "{study}compute is not 6ND: 6ND is {low:.3g} to {high:.3g} times the compute that the table gives"
    ),
    "mend_other_flops": (
        "say how FLOPs are counted (embeddings, attention), and fit with that count throughout"
    ),
    "audit_counted_parameters": (
        "{study}parameters can be counted in several ways, and {what} depends on it: {exponents:;}"
    ),
    "mend_counted_parameters": (
        "state the count together with the exponent; compare with other studies only under the same count"
    ),
    "audit_counted_otherwise": (
        "{study}parameters are counted in two ways: in {count:#row} the count is made up differently of 12 "
        "· layers · width² and embeddings"
    ),
    "audit_means": "{study}{count:#row} hold the mean of the other runs of their setting",
    "audit_changed": "{study}{count:#row} with {column} = {values:,}, unlike the others",
    "audit_noted": "{study}{count:#row} in which {column} says that something is wrong",
    "audit_inconsistent": "{study}{count:#row} in which {columns:,} do not fit together as in the others",
    "mend_inconsistent": "look for a typing error or another unit in one of these columns",
    "audit_training_gap": "{study}{count:#run} whose test loss and {column} differ in an unusual way",
    "mend_training_gap": "look for other test data, test data in the training data, or a typing error",
    "audit_warm_up": "{study}{count:#run} with a warm-up of more than 30 % of the training ({column})",
    "mend_warm_up": "shorten the warm-up with the run, or leave these runs out: their loss is too high",
    "audit_repeated": "{study}{count:#run} with more than eight passes over the same data ({column})",
    "mend_repeated": "leave them out, or fit a law of repeated data: tokens seen again teach less",
    "audit_selected": "{study}{count:#run} whose loss was taken long before the end ({column})",
    "mend_selected": "take the loss at the end of every run, or the lowest of every run",
    "audit_impossible": "{study}{count:#row} with an impossible value: {column} = {worst:g}",
    "mend_impossible": "leave the value empty where nothing was measured, or correct it",
    "audit_other_units": "{study}{count:#row} whose {column} seems to be in another unit",
    "mend_other_units": "write the column in one unit",
    "audit_untuned": "{study}{column} is searched at most sizes, but not at {sizes:#size}",
    "mend_untuned": "try three values or more there: the loss of these sizes may be too high",
    "mend_of_another_kind": "leave these rows out, or give them a study of their own",
    "audit_unlike_seeds": (
        "{study}seeds of one setting differ by {apart:%%} in loss; those of other settings by {usual:%%} "
        "(median)"
    ),
    "mend_unlike_seeds": (
        "run another seed there: the better one may only have been lucky, or the worse one failed"
    ),
    "audit_mixed_schedules": "{study}schedules are mixed: {column} has {kinds} values",
    "mend_mixed_schedules": "compare runs of one schedule, each decayed to its end",
    "audit_unfinished": "{study}{count:#run} did not reach the planned end",
    "mend_unfinished": "finish them or leave them out: before the decay a loss is too high",
    "audit_edge_of_grid": (
        "{study}the best {column} is the smallest or the largest that was tried, at {sizes:#size}"
    ),
    "mend_edge_of_grid": "try values beyond that edge: the loss of these sizes may be too high",
    "audit_undertuned": (
        "{study}the best loss at {column} = {size:count} lies above the curve of the other sizes"
    ),
    "mend_undertuned": (
        "tune that size as the others were, check that its parameters are counted in the same way, or leave"
        " it out"
    ),
    "audit_contaminated": "{study}in these rows {column} is better than the loss allows",
    "mend_contaminated": "look for the task in the training data, and score without it",
    "schedule_unknown": (
        "how the learning rate will go on is not known, and the loss of a run that ends depends on it: give "
        "schedule=, such as sl.laws.schedule.cosine(peak, total, warmup)"
    ),
    "run_too_early": (
        "{fraction:%%} of the run is done, with {losses} losses logged: an estimate of its final loss needs "
        "{least:%%} and {needed} losses after the first 2 %"
    ),
    "run_diverged": "the loss at step {step:.6g} is not a positive number: the run has diverged",
    "few_scores": (
        "a curve from loss to score needs {needed} runs with different losses and a {score}; there are {runs}"
    ),
    "at_chance": (
        "{score} has not left chance: the runs of the lowest loss are {reached:%%} of the way from chance to "
        "the best score, and the trend with the loss has {p:p}; score larger models, or take a measure that "
        "moves earlier, such as the loss of the right answer"
    ),
    "score_too_far": (
        "a loss of {loss:.4g} lies farther below the scored runs ({lowest:.4g} … {highest:.4g}) than they "
        "span, so nothing shows {score} there: score larger models"
    ),
    "score_too_wide": (
        "these runs leave {score} between {low:.3g} and {high:.3g}, which decides nothing: score more runs "
        "of low loss"
    ),
    "too_far": (
        "runs of {smallest:.2g} to {largest:.2g} FLOPs do not determine the best model at {compute:.3g} "
        "FLOPs: ask for a compute within a factor of about {reach:.1g} of theirs, or add runs nearer to it"
    ),
    "no_freedom": (
        "{runs} runs for {parameters} parameters leave no scatter to judge an interval by: add runs"
    ),
    "other_surfaces_fit": "these runs do not determine {parameters}, and other surfaces fit them as well",
    # a run beside its theory
    "run": "{run}: {subject}{n_data} examples, {steps:g} steps",
    "no_curve": "no curve: {reason}",
    "outside": "outside the theory: {reason}",
    "other_loss": "loss = {loss}; the theory is of squared loss (train with loss = mse)",
    "rescaled_gradients": "{optimizer} rescales every gradient; the theory is of gradient descent (sgd)",
    "nesterov": "nesterov momentum is treated as heavy-ball momentum",
    "other_schedule": "schedule = {schedule}; the theory has a constant learning rate",
    "left_out": "{setting} = {value:g} is left out",
    "augmented": "augment = {augment}: the theory counts {n_data} examples, augmentation makes more of them",
    "mup": "mup: learning rates differ between layers, and the kernel is not weighted by them",
    "batch_noise": (
        "batches of {batch} of {n_data} examples: the theory is of full-batch descent, without minibatch "
        "noise"
    ),
    "batch_normalized": (
        "the network has {layers}: in training, statistics of the batch make it a different function"
    ),
    "normalized": "the network has {layers}: its kernel moves early",
    "small_sample": (
        "the kernel is measured on {inputs} inputs, the run has {n_data} examples: modes that the sample "
        "does not resolve are extrapolated; samples={n_data} measures them, if there are so many inputs"
    ),
    "equal_epochs": "the measured slope in examples is at equal epochs, so steps grow with examples",
    "large_steps": (
        "large steps, learning_rate = {rate:g}; descent on the kernel is stable below {largest:.3g}"
    ),
    "large_steps_few_examples": (
        "large steps, learning_rate = {rate:g}; descent on {n_data} examples is unstable, and on many "
        "stable below {largest:.3g}"
    ),
    "over_solved": (
        "measured divided by solved test loss: {low:.2f} to {high:.2f}, {last:.2f} at the end "
        "({measured:.4g} and {solved:.4g})"
    ),
    "regime_lazy": "lazy: within {close:%%} of its kernel at the end",
    "regime_rich": "rich: below its kernel at the end, features are learnt",
    "trained_features": (
        "beside a network that trains its features, of richness {richness:.2g} (fitted): measured over "
        "solved {low:.2f} to {high:.2f}, {last:.2f} at the end"
    ),
    "regime_worse": "worse than its kernel at the end",
    "regime_unknown": "no curve to compare with",
    "came_back": "farthest from it at step {step:g}, by {distance:%%}",
    "apart_since": "apart from it by more than {close:%%} from step {step:g} on",
    "other_draws": (
        "descent with this kernel on other draws of {n_data} examples: {loss:.4g} at the end ± "
        "{scatter:%%} between draws, {ratio:.2f} times the solved loss (the theory's own error)"
    ),
    "kernel_moved": "kernel: drift {drift:.2g}, alignment {first:.3f} to {last:.3f}",
    "kernel_not_measured": 'kernel in training: not measured (train with measure = ["kernel"])',
    "limited": "what limits the loss now: {by}",
    "limited_with_noise": "what limits the loss now: {by} ({noise:%%} of the loss is noise to this kernel)",
    "doubling": (
        "twice the {resource}: loss × {factor:.3f}{error: ± .3f} (slope {slope:.2f}{measured:; measured "
        "slope .2f})"
    ),
    "doubling_unstable": (
        "twice the {resource}: descent on the kernel is unstable there at this learning rate{measured:; "
        "measured slope .2f}"
    ),
    "no_solved_curve": "no solved curve for this run",
    "solved_below_rate": (
        "no solved curve for this run; this network has one when trained with loss = mse, optimizer = sgd "
        "and a constant learning_rate below {rate:.3g}"
    ),
    "loss_at_the_end": "test loss at the end: {loss:.4g}",
    "measured_doubling": "measured, twice the {resource}: loss × {factor:.3f} (slope {slope:.2f})",
    "no_runs_beside": "{resources}: the store has no other runs that differ only in {columns:or}",
    # learning curves
    "short_curves": "{size} = {sizes:,.10g} left out: fewer than {needed} usable points",
    "points_not_positive": "{points:#point} left out: {x} or {y} is missing or not positive",
    "rows_without_size": "{rows:#row} left out: no {size} is given",
    "optima_differ": (
        "quality by optimum is {quality:.2g}: the curves differ, or their flat minima are located less "
        "precisely than the noise suggests; by='position' (--by position) does not use the minima"
    ),
    "fall_over_no_range": (
        "the curves fall while x changes by a factor of {factor:.3g}; a power of x needs {least:g} or more: "
        "measure from earlier steps on, or name another column that grows during training with x (--x)"
    ),
    "early_slopes_drift": (
        "early slopes change with size, from {first:.3g} to {last:.3g} ({trend:+.2g} per e-fold): gamma_1 is "
        "their average, not one exponent"
    ),
    # recipes
    "beyond_the_runs": (
        "the runs cover {first:.3g} … {last:.3g}: beyond them the answer rests on the form of the law"
    ),
    "noise_run_once": "every setting was run once: repeat them with other seeds",
    "noise_one_width": "there is one width only",
    "noise_claim_unknown": ("which power the paper claims depends on the parameterization (standard or ntk)"),
    "noise_few_inside": (
        "the optimum lies inside the search for {closed} widths, and {needed} are needed: search further, "
        "repeat with more seeds, or add widths"
    ),
    "noise_excludes": "the 95 % interval of p, [{low:.3g}, {high:.3g}], excludes {claim:g}",
    "noise_holds_zero": (
        "the 95 % interval of p, [{low:.3g}, {high:.3g}], contains {claim:g}, but also 0: no dependence on "
        "width"
    ),
    "noise_holds_other": (
        "the 95 % interval of p, [{low:.3g}, {high:.3g}], contains {claim:g}, but also {other:g}"
    ),
    "noise_holds": (
        "the 95 % interval of p, [{low:.3g}, {high:.3g}], contains {claim:g} and excludes {others}"
    ),
    # a plan
    "narrows": "{cost} would narrow the {what} from ± {before:%%} to ± {after:%%}",
    "nothing_narrows": "no run within {budget} narrows the {what}: allow more (plan next --budget)",
    "stays_open": (
        "even the best{cost} would leave the {what} at ± 100 % or more: first train sizes over a wider "
        "range (now a factor of {covered:two} in {size})"
    ),
    "narrow_already": "the {what} is already known to ± {before:%%}",
    "narrows_little_at_most": (
        "even runs within {budget} would narrow the {what} of ± {before:%%} by only {saved:%%}, less than "
        "the {needed:%%} that make a run worth it"
    ),
    "narrows_little": (
        "runs within {budget} would narrow the {what} of ± {before:%%} by only {saved:%%}, less than the "
        "{needed:%%} that make a run worth it; a larger budget may do more: plan next --budget"
    ),
    "law_open": (
        "these runs do not determine the law, so what another run would add cannot be computed; add larger "
        "sizes"
    ),
    "plan_of_a_bend": (
        "the points bend away from {equation} near {size} = {at:count}, so this form cannot tell which run "
        "would help: choose one that fits (form=, --form broken_power_law), or measure more sizes beyond the "
        "bend"
    ),
    "no_optimum": "these runs do not determine the compute-optimal model",
}


# of a surface; the others are called by their names
FORMS = {
    "chinchilla": "a sum of two power laws", "coupled": "a power of a sum of power laws",
    "broken_params": "two power laws with a break in that of parameters",
    "broken_data": "two power laws with a break in that of data",
}  # fmt: skip


def in_words(form: str) -> str:
    """What a form is called in a sentence."""
    return FORMS.get(form, form)


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


NO_NAMES: Mapping[str, str] = {}


def spoken(column: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """What a column is called in a sentence: by these names, or a measurement in words.

    >>> spoken("n_data", {"n_data": "tokens"}), spoken("test_loss"), spoken("loss_on_c4")
    ('tokens', 'test loss', 'loss_on_c4')
    """
    known = re.fullmatch("(train|test)_(loss|error|accuracy)", column)
    return names.get(column, f"{known[1]} {known[2]}" if known else str(column))


def fill(template: str, details: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """The sentence of a template.

    Args:
        details: values of its fields.
        names: what columns are called, such as {"n_data": "tokens"}.

    >>> fill("{runs:#run} at {size:count} {x}", {"runs": 1, "size": 2e9, "x": Column("n_data")},
    ...      {"n_data": "tokens"})
    '1 run at 2B tokens'
    >>> fill("no {lost}: ± {width:%%}", {"lost": ("E", "alpha", "beta"), "width": 0.042})
    'no E, alpha and beta: ± 4.2 %'
    >>> fill("{low:.2g} to {high:.2g} times, x^{power:.2g}", {"low": 3.01, "high": 3.02, "power": 1.0})
    '3 times, x'
    """
    filled = without_nan(_Sentences(names or {}).vformat(template, (), details))
    return POWER_ONE.sub("", SAME_ENDS.sub(r"\1", filled))


SAME_ENDS = re.compile(r"(?<![\w.])(\d\S*(?: %)?) (?:to|…) \1(?![\w.])")  # of a range, after rounding
POWER_ONE = re.compile(r"\^1(?![\d.])")


LEAST_SHARE = 1e-4  # the smallest share that is printed
LEAST_P = 1 / 1000  # the smallest p-value that is printed; tests whose distribution is drawn resolve it
OPTIONAL = re.compile(r"(.*[^+.0-9])(\.\d[efg])")  # text, then the format of a number


class _Sentences(Formatter):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, Column):
            value = spoken(value, self.names)
        if isinstance(value, Mapping):
            ends = ((self.format_field(k, ""), self.format_field(v, spec)) for k, v in value.items())
            return ", ".join(f"{name} = {size}" for name, size in ends)
        if spec == "amount":  # a cost with its unit
            return amount(*value)
        if hasattr(value, "sentence"):  # a reason within a reason
            return format(str(value.sentence(self.names)), spec)
        if isinstance(value, (tuple, list)) and spec.endswith("g"):
            between = " … " if spec.startswith("…") else ", "
            return between.join(format(each, spec.lstrip("…")) for each in value)
        if isinstance(value, (tuple, list)):
            words = [self.format_field(each, "") for each in value]
            return f"{spec} ".join(words) if spec in (",", ";", " ·") else listed(words, spec or "and")
        if optional := OPTIONAL.fullmatch(spec):
            return f"{optional[1]}{value:{optional[2]}}" if value else ""
        if isinstance(value, float) and math.isinf(value):
            return "no bound"
        if spec.startswith("#"):
            return counted(int(value), spec[1:])
        if spec == "p":
            return f"p = {value:.2g}" if value >= LEAST_P else f"p < {LEAST_P:g}"
        if spec == "%%":
            return f"{two_digits(100 * value)} %" if not 0 < abs(value) < LEAST_SHARE else "0.01 % or less"
        if spec == "sure":
            return "> 99 %" if value > 0.99 else self.format_field(value, "%%")
        formats: dict[str, Callable[[Any], str]] = {"count": count, "two": two_digits, "form": in_words}
        return formats[spec](value) if spec in formats else format(value, spec)
