"""Thirty tables of laboratories, companies and courses: trackers, spreadsheets, configurations, papers, logs, other fields, choices.

Written without a look at what reads them, and committed before the first of them was read.
Said beforehand: percents, word error rates and BLEU are shares, mean absolute errors and log losses stay as written, a perplexity is
read as its logarithm; running, preempted, aborted and failed runs do not count, nor does DVC's workspace, which repeats a commit;
of seeds with their mean beside them the seeds are the points, a mean with its deviation alone is one; 亿 is 1e8; hours of
speech, demonstrations and images seen count as data; runs of one length are read by their ends; steps count as tokens
where the log says how many tokens a step has.
"""

import json

import numpy as np
import pandas as pd

from tables_parts import cases
from tables_parts.cases import *

TABLES = Collection()
add, folder = TABLES.add, TABLES.folder

def grid(seed: int, models: list[float], tokens: list[float], digits: int = 3, floor: float = 1.74) -> Truth:
    """Losses of every model on every number of tokens."""
    return cases.surface(seed, np.array(models), np.array(tokens), lambda n, d: floor + 0.58 * (n / 1e8) ** -0.34 + 0.8 * (d / 1e9) ** -0.28, digits)

def family(seed: int, models: list[float], digits: int = 4, floor: float = 1.85, slope: float = 0.23) -> Truth:
    """Losses by parameters, trained alike."""
    return line(seed, np.array(models), floor, 1.05 * 1e8**slope, slope, digits, 0.0025, "n_params")

def shares(seed: int, sizes: list[float], seeds: int = 1, floor: float = 0.05, height: float = 3.0, slope: float = 0.37, digits: int = 4, size: str = "n_data") -> Truth:
    """Shares of wrong answers by the size of the data, or of the model."""
    return line(seed, np.repeat(sizes, seeds), floor, height, slope, digits, 0.012, size, "test_error")

def rows_of(truth: Truth) -> list[tuple[float, ...]]:
    """The points as rows."""
    return [*zip(*(values.tolist() for values in columns(truth)), strict=True)]

def along(end: float, points: int) -> list[float]:
    """Losses of checkpoints that fall to the last, which is the lowest."""
    jitter = 0.002 * np.random.default_rng(round(1e4 * end)).standard_normal(points - 1)
    before = np.maximum(falling(end, points)[:-1] * (1 + jitter), end * (1 + np.abs(jitter)) + 0.0004)
    return [*np.round(before, 4).tolist(), end]

def quoted(rows: list[list[object]]) -> str:
    """Comma-separated values, each in quotes."""
    return "".join(",".join(f'"{c}"' for c in row) + "\n" for row in rows)

def opendocument(rows: list[list[object]], sheet: str) -> bytes:
    """A spreadsheet as LibreOffice writes it, with its empty rows below."""
    def cell(value: object) -> str:
        if value == "":
            return "<table:table-cell/>"
        if isinstance(value, str):
            return f'<table:table-cell office:value-type="string" calcext:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="float" office:value="{value}" calcext:value-type="float"><text:p>{value}</text:p></table:table-cell>'

    spaces = "".join(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text"))
    body = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    width = max(map(len, rows))
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content{spaces} xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0" office:version="1.3">'
        f'<office:body><office:spreadsheet><table:table table:name="{sheet}"><table:table-column table:number-columns-repeated="{width}"/>{body}'
        f'<table:table-row table:number-rows-repeated="1048{550 - len(rows)}"><table:table-cell table:number-columns-repeated="{width}"/></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>')
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>')
    return cases.packed({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})

# --- trackers ---------------------------------------------------------------------------------------------------

t = grid(4401, [31e6, 98e6, 287e6, 910e6], [4e9, 1.2e10, 3.6e10], 4)
rows = [[f"dense-{short(n)}-{short(d)}", "finished", "", "jlee", "ladder,v2", f"2026-02-{2 + k:02d}T08:14:55.000Z", int(n * d / 3e14), 512, int(n), int(d), 0.0008, int(d / 2**20), round(y - 0.018, 4), y] for k, (n, d, y) in enumerate(rows_of(t))]
rows.insert(0, ["dense-910M-36B-rerun", "running", "new seed", "jlee", "ladder,v2", "2026-02-19T17:02:10.000Z", 41230, 512, 910000000, 36000000000, 0.0008, 6100, 2.7811, 2.8034])
rows.insert(7, ["dense-98M-36B", "crashed", "NCCL timeout", "jlee", "ladder,v2", "2026-02-06T02:41:37.000Z", 3011, 512, 98000000, 36000000000, 0.0008, 2400, 3.2246, 3.2391])
add("trackers", "W&B's export of runs, one still running and one crashed", "wandb_export_2026-02-20T09_11_04.112+01_00.csv", quoted([
    ["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "batch_size", "n_params", "n_tokens", "lr", "_step", "train/loss", "eval/loss"], *rows]), t)

t = line(4402, np.repeat([4e4, 8e4, 1.6e5, 3.2e5, 6.4e5, 1.28e6, 2.56e6], 2), 0.62, 6.2, 0.28, 4, 0.003, y="test_error")
add("trackers", "Comet's table of translation models, BLEU by sentence pairs", "comet-experiments.csv", csv([
    ["experiment_key", "name", "start_time", "duration", "sentence_pairs", "seed", "dropout", "train_loss", "test_bleu"],
    *([f"{(k + 7) * 0x9E3779B97F4A7C15 % 16**12:012x}", f"is-en-{short(n)}-{k % 2}", f"2025-12-{3 + k:02d} 10:41:07", f"{2 + k // 2}h {7 * k % 60}m", int(n), 11 + k % 2, 0.3, f"{2.1 + 2 * e:.3f}", f"{100 * (1 - e):.2f}"] for k, (n, e) in enumerate(rows_of(t)))]), t)

t = family(4403, [8.4e6, 20.1e6, 47.6e6, 112.5e6, 265e6, 630.8e6, 1.49e9])
rows = [[f"PLM-{112 + k}", f"2026-01-{7 + k:02d}T11:20:01Z", "False", "r.haas", f"protein-{short(n)}", int(n), 0.0004, 150000, round(y - 0.012, 4), y] for k, (n, y) in enumerate(rows_of(t))]
rows.insert(4, ["PLM-111", "2026-01-06T16:47:30Z", "True", "r.haas", "protein-265M", 265000000, 0.0012, 18200, 2.9873, 2.9902])
add("trackers", "Neptune's table of protein models, one of them failed", "neptune_runs.csv", csv([
    ["sys/id", "sys/creation_time", "sys/failed", "sys/owner", "sys/name", "parameters/model/num_params", "parameters/optimizer/lr", "metrics/step (last)", "metrics/train/loss (last)", "metrics/valid/loss (last)"], *rows]), t)

t = shares(4404, [250, 500, 1000, 2000, 4000, 8000, 16000], 1, 0.24, 5.1, 0.42)
rows = [["Training", f"yolo11s_pallets_{int(n)}", "Completed", f"Mar {k + 3} 2026 09:05", 100, int(n), 640, round(1 - e, 4)] for k, (n, e) in enumerate(rows_of(t))]
rows.insert(3, ["Training", "yolo11s_pallets_2000", "Aborted", "Mar 5 2026 18:31", 12, 2000, 640, 0.3107])
add("trackers", "ClearML's list of detectors, one aborted", "clearml_experiments.csv", csv([
    ["TYPE", "NAME", "STATUS", "STARTED", "ITERATION", "Args/num_train_images", "Args/imgsz", "val/mAP50 (last)"], *rows]), t)

t = line(4405, np.array([2e3, 5e3, 2e4, 5e4, 2e5, 5e5, 2e6]), 0.2874, 2.3, 0.36, 4, 0.003)
rows = [[("main", "tidal-loon", "pithy-wren", "slack-toad", "mesic-hare", "rooky-mink", "vapid-orca")[6 - k], f"{(k + 2) * 0x1C9A3F7:07x}"[:7], "branch_commit" if k < 6 else "baseline", f"2026-04-{10 + k:02d}T14:03:22", "", "", "", y, int(n), 8, 0.05] for k, (n, y) in enumerate(rows_of(t))][::-1]
add("trackers", "DVC's table of experiments on rows of a churn model, with the workspace", "exp_show.csv", csv([
    ["Experiment", "rev", "typ", "Created", "parent", "State", "Executor", "test.logloss", "prepare.n_rows", "train.max_depth", "train.eta"],
    ["", "workspace", "baseline", "", "", "", "", *rows[0][7:]], *rows]), t)

t = family(4406, [2.9e6, 8.8e6, 24.6e6, 71e6, 212e6, 640e6], 4, 2.05, 0.2)
add("trackers", "Aim's long export of train and validation", "aim_metrics.csv", csv([
    ["run.hash", "run.experiment", "hparams.model.n_params", "hparams.lr", "metric.name", "metric.context.subset", "step", "value"],
    *([f"{(k + 5) * 0x9E3779B97F4A7C15 % 16**12:012x}", "char-lm", int(n), 0.001, "loss", subset, 20000, v] for k, (n, y) in enumerate(rows_of(t)) for subset, v in (("train", round(0.97 * y, 4)), ("val", y)))]), t)

t = shares(4407, [250, 500, 1000, 2000, 4000, 8000, 16000, 32000], 1, 0.07, 4.4, 0.38)
folder("trackers", "TensorBoard's files of accuracy by epoch, sizes in the names", {
    f"run-cnn_n{int(n)}_validation-tag-epoch_accuracy.csv": csv([["Wall time", "Step", "Value"], *([round(1769000000.25 + 4000 * k + 31.5 * i, 2), i, round(1 - e - (0.9 - e) * (0.8**i - 0.8**24), 4)] for i in range(25))])
    for k, (n, e) in enumerate(rows_of(t))}, t)

t = line(4408, np.array([1e17, 3e17, 1e18, 3e18, 1e19, 3e19, 1e20, 3e20]), 1.92, 1.6 * 1e18**0.14, 0.14, 4, 0.0025, "compute")
rows = [[f"{(k + 3) * 0x9E3779B97F4A7C15 % 16**16:016x}", 7, "FINISHED", f"2026-05-{2 + k:02d} 07:11:02.118000+00:00", y, round(y - 0.02, 4), f"{c:.0e}", "cosine", f"flop-{c:.0e}"] for k, (c, y) in enumerate(rows_of(t))]
rows.insert(5, ["00c1d2e3f4a5b6c7", 7, "FAILED", "2026-05-07 01:30:44.902000+00:00", "", "", "3e+19", "cosine", "flop-3e+19-bad"])
add("trackers", "MLflow's search of runs by compute", "mlflow_runs.csv", csv([
    ["run_id", "experiment_id", "status", "start_time", "metrics.val_loss", "metrics.train_loss", "params.train_flops", "params.schedule", "tags.mlflow.runName"], *rows]), t)

# --- spreadsheets -----------------------------------------------------------------------------------------------

t = grid(4409, [65e6, 190e6, 540e6, 1.6e9], [5e9, 1.5e10, 5e10, 1.5e11])
add("spreadsheets", "two rows of names with merged groups, a title and a note", "scaling_study_2026Q1.xlsx", workbook({"Summary": [
    ["Scaling study 2026 Q1 - dense decoder models", "", "", "", "", ""], [],
    ["Model", "", "Training", "", "Validation", ""], ["Name", "Params (M)", "Tokens (B)", "Steps", "Loss", "PPL"],
    *([f"{'ABCD'[k // 4]}-{k % 4 + 1}", n / 1e6, d / 1e9, int(d / 2**21), y, round(float(np.exp(y)), 2)] for k, (n, d, y) in enumerate(rows_of(t))), [],
    ["Loss in nats per token, final checkpoint. B-3 was restarted once from step 11000.", "", "", "", "", ""]]}, ("A1:F1", "A3:B3", "C3:D3", "E3:F3")), t)

t = shares(4410, [10, 30, 100, 300, 960, 3000], 1, 0.032, 0.95, 0.47)
add("spreadsheets", "an OpenDocument sheet of speech with a row of units", "asr_welsh.ods", opendocument([
    ["Welsh ASR - effect of the amount of training audio", "", "", ""], [""], ["System", "Training audio", "Epochs", "WER test"], ["", "h", "", "%"],
    *([f"zipformer-{'abcdef'[k]}", int(n), 40, round(100 * e, 2)] for k, (n, e) in enumerate(rows_of(t))), [""], ["Greedy decoding, no external language model.", "", "", ""]], "results"), t)

t = shares(4411, [50, 100, 200, 400, 800, 1600], 4, 0.09, 1.9, 0.43)
e = columns(t)[1].reshape(6, 4)
add("spreadsheets", "a sheet about the study, then seeds with their mean and deviation", "nodule_label_budget.xlsx", workbook({
    "README": [["Study", "Label budget, CT lung nodules"], ["Contact", "m.okafor"], ["Metric", "test error = 1 - balanced accuracy"], ["Split", "patient-wise, 512 test scans"]],
    "runs": [["Labelled scans", "Seed 1", "Seed 2", "Seed 3", "Seed 4", "Mean", "Std"], *([int(n), *e[k].tolist(), round(float(e[k].mean()), 4), round(float(e[k].std(ddof=1)), 4)] for k, n in enumerate([50, 100, 200, 400, 800, 1600]))]}), t)

t = shares(4412, [500, 1000, 2000, 5000, 10000, 20000, 50000], 1, 0.06, 2.7, 0.36)
add("spreadsheets", "a French sheet saved as CSV in Windows' encoding", "résultats_TP4.csv", csv([
    ["Nb d'images d'apprentissage", "Époques", "Durée (min)", "Taux de bonne classification (test)"],
    *([f"{int(n):,}".replace(",", "\xa0"), 40, comma(0.4 + n / 2100, 1), f"{comma(100 * (1 - e), 2)} %"] for n, e in rows_of(t))], ";").encode("cp1252"), t)

ppl, t = cases.perplexities(grid(4413, [70e6, 210e6, 640e6, 1.9e9], [3e9, 1e10, 3e10, 1e11], 4))
left = np.ones(16, bool)
left[7] = False
cells: list[list[object]] = [["Perplexity of the small models,,,"], [",,,"], ["Model size,Tokens,Val ppl,Notes"]]
for k, (n, d, _) in enumerate(rows_of(t)):
    cells.append([short(n) if k % 4 == 0 else "", short(d), f"{ppl[k]:.2f}" if left[k] else "—", "" if left[k] else "still in the queue"])
add("spreadsheets", "a shared sheet, sizes at the first row of each block, perplexities", "Small models - Sheet1.csv", csv([*cells, [",,,"], ["ppl on the held-out split (same tokenizer everywhere),,,"]]), t.rows(left))

t = grid(4414, [0.7e8, 1.6e8, 4.1e8, 14e8], [1e10, 3e10, 1e11])
add("spreadsheets", "a Chinese table of experiments, parameters in hundreds of millions", "实验结果.csv", "\ufeff" + csv([
    ["实验编号", "参数量(亿)", "训练数据(B tokens)", "学习率", "验证集loss", "备注"],
    *([f"exp{k + 1:02d}", f"{n / 1e8:g}", f"{d / 1e9:g}", "6e-4", f"{y:.3f}", "重跑一次" if k == 4 else ""] for k, (n, d, y) in enumerate(rows_of(t)))]), t)

# --- configurations ---------------------------------------------------------------------------------------------

t = line(4415, np.array([0.48e6, 1.93e6, 4.34e6, 7.71e6, 17.3e6, 30.8e6, 69.4e6]), 0.612, 1.1e6**0.31 * 0.55, 0.31, 4, 0.004, "n_params")
files: dict[str, str] = {}
for k, (n, y) in enumerate(rows_of(t)):
    place = f"multirun/2026-03-11/10-44-03/{k}/"
    width = (16, 32, 48, 64, 96, 128, 192)[k]
    files |= {place + ".hydra/config.yaml": f"seed: 0\nmodel:\n  name: unet\n  base_channels: {width}\n  n_params: {int(n)}\ndata:\n  name: era5_t2m\n  years: 20\noptim:\n  name: adamw\n  lr: 0.0003\n",
              place + ".hydra/overrides.yaml": f"- model.base_channels={width}\n", place + "results.json": json.dumps({"epoch": 60, "train_rmse": round(0.94 * y, 4), "test_rmse": y}) + "\n"}
folder("configurations", "Hydra's folders of a sweep, a configuration and a result in each", files, t)

t = line(4416, np.repeat([1000.0, 2500, 5000, 10000, 25000, 50000, 100000], 2), 3.1, 2650.0, 0.55, 2, 0.015)
add("configurations", "runs of a chemistry model in TOML", "qm9_u0.toml", 'title = "QM9 U0 learning curve"\nmodel = "PaiNN"\nunit = "meV"\n\n' + "\n".join(
    f"[[run]]\nn_train = {int(n):_}\nseed = {k % 2}\nlr = 5e-4\ntest_mae = {y:.2f}\n" for k, (n, y) in enumerate(rows_of(t))), t)

t = cases.surface(4417, np.array([5.7e6, 22.1e6, 86.6e6, 304e6]), np.array([3e7, 1e8, 3e8, 1e9]), lambda n, d: 0.085 + 0.19 * (n / 1e7) ** -0.36 + 0.27 * (d / 1e7) ** -0.33, 4)
add("configurations", "image models by images seen in JSON lines", "vit_grid.jsonl", "".join(json.dumps({
    "name": f"ViT-{('Ti', 'S', 'B', 'L')[k // 4]}/16", "config": {"params": int(n), "images_seen": int(d), "batch_size": 4096, "res": 224}, "eval": {"imagenet_val_top1": round(1 - e, 4)}}) + "\n" for k, (n, d, e) in enumerate(rows_of(t))), t)

# --- papers and pages -------------------------------------------------------------------------------------------

t = shares(4418, [39e6, 74e6, 244e6, 769e6, 1.55e9], 1, 0.041, 95.0, 0.38, 4, "n_params")
add("papers and pages", "named models with a column of sizes in LaTeX, deviations in the cells", "tab_wer.tex",
    "\\begin{table}[t]\n\\centering\n\\caption{WER on our test set of call-centre speech, mean and standard deviation over three fine-tuning seeds. All models were tuned on the same 200 hours.}\n\\begin{tabular}{lrrr}\n\\toprule\nModel & Params & Layers & WER (\\%) $\\downarrow$ \\\\\n\\midrule\n"
    + "".join(f"{name} & {short(n)} & {layers} & {f'{100 * e:.2f}' if name != 'large' else f'{chr(92)}textbf{{{100 * e:.2f}}}'} $\\pm$ 0.{31 - 4 * k} \\\\\n" for k, (name, layers, (n, e)) in enumerate(zip(("tiny", "base", "small", "medium", "large"), (4, 6, 12, 24, 32), rows_of(t), strict=True)))
    + "\\bottomrule\n\\end{tabular}\n\\end{table}\n", t)

t = grid(4419, [110e6, 350e6, 1.1e9], [8e9, 2.4e10, 7.2e10, 2.16e11])
body = ""
for k, (n, d, y) in enumerate(rows_of(t)):
    size = f'<td rowspan="4">coder-{short(n)}</td><td rowspan="4">{short(n)}</td>' if k % 4 == 0 else ""
    body += f"    <tr>{size}<td>{d / 1e9:g}B</td><td>{y:.3f}</td></tr>\n"
add("papers and pages", "a page of a code model, cells over several rows", "blog.html",
    "<!DOCTYPE html>\n<html><head><title>How far does our code data go?</title></head><body>\n<h2>Results</h2>\n<p>Every model was trained from scratch with its own cosine schedule.</p>\n<table>\n  <caption>Validation loss on held-out repositories</caption>\n  <thead>\n    <tr><th>Model</th><th>Parameters</th><th>Training tokens</th><th>Validation loss</th></tr>\n  </thead>\n  <tbody>\n"
    + body + "  </tbody>\n</table>\n<p>Code and weights will follow.</p>\n</body></html>\n", t)

t = line(4420, np.array([2e18, 6e18, 2e19, 6e19, 2e20, 6e20, 2e21]), 1.68, 1.3 * 1e19**0.16, 0.16, 3, 0.0025, "compute")
add("papers and pages", "a simple table in reStructuredText by training compute", "results.rst",
    "Results\n=======\n\nBest validation loss at each training budget, architecture and data fixed by the recipe.\n\n===========  ==============  ===============\nRun          Train FLOPs     Validation loss\n===========  ==============  ===============\n"
    + "".join(f"{f'budget-{k}':<13}{f'{c:.0e}':<16}{y:.3f}\n" for k, (c, y) in enumerate(rows_of(t))) + "===========  ==============  ===============\n\nThe runs are described in :doc:`setup`.\n", t)

t = shares(4421, [2.1e6, 5.4e6, 11.8e6, 24.6e6, 51.3e6, 103.7e6], 1, 0.118, 52.0, 0.41, 3, "n_params")
add("papers and pages", "a model zoo in a README with links and cost of a forward pass", "README.md",
    "# heron: image classifiers\n\n## Pretrained models\n\nAll trained on ImageNet-1k for 300 epochs at 224x224.\n\n" + markdown(["Model", "Params (M)", "FLOPs per image (G)", "Top-1 acc. ↑", "Weights"], [
        [f"`heron_{name}`", f"{n / 1e6:g}", f"{n / 1e6 * 0.21:.1f}", f"**{100 * (1 - e):.1f}**" if name == "xl" else f"{100 * (1 - e):.1f}", f"[download](https://example.org/heron_{name}.pt)"] for name, (n, e) in zip(("nano", "tiny", "small", "base", "large", "xl"), rows_of(t), strict=True)])
    + "\n## Install\n\n```\npip install heron\n```\n", t)

t = family(4422, [125e6, 350e6, 760e6, 1.3e9, 2.7e9, 6.7e9], 3, 1.72, 0.26)
add("papers and pages", "models in columns, settings and loss in rows", "appendix_b.md", "Table 7: Dense baselines. All models see 300B tokens.\n\n" + markdown(
    ["", *(short(n) for n, _ in rows_of(t))], [["Layers", 12, 24, 24, 24, 32, 32], ["d_model", 768, 1024, 1536, 2048, 2560, 4096], ["Peak LR", "6e-4", "3e-4", "2.5e-4", "2e-4", "1.6e-4", "1.2e-4"], ["Validation loss", *(f"{y:.3f}" for _, y in rows_of(t))]]), t)

# --- logs -------------------------------------------------------------------------------------------------------

part = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
t = shares(4423, np.round(464809 * part).tolist(), 2, 0.021, 2.6, 0.31)
add("logs", "lines of a boosting script on parts of a table of forests", "covtype.log",
    "[2026-01-14 09:12:44] INFO loaded covtype: 464,809 train rows, 116,203 test rows\n" + "".join(
        f"[2026-01-14 09:{13 + k}:{7 * k % 60:02d}] INFO subset {100 * part[k // 2]:3.0f}% ({int(n):,} rows) seed={k % 2} | fit {1.9 + n / 8000:.1f}s | train_err {0.3 * e:.4f} | test_err {e:.4f}\n" for k, (n, e) in enumerate(rows_of(t)))
    + "[2026-01-14 09:27:31] INFO done\n", t)

t = family(4424, [0.8e6, 2.67e6, 10.65e6, 29.94e6, 85e6, 123.59e6], 4, 0.92, 0.17)
files = {}
for k, (n, y) in enumerate(rows_of(t)):
    shape = ("4x128", "6x192", "6x384", "10x512", "12x768", "12x896")[k]
    text = f"tokens per iteration will be: 16,384\nInitializing a new model from scratch\nnumber of parameters: {n / 1e6:.2f}M\nusing fused AdamW: True\ncompiling the model... (takes a ~minute)\n"
    for i, v in enumerate(along(y, 11)):
        text += f"step {500 * i}: train loss {0.975 * v:.4f}, val loss {v:.4f}\niter {500 * i}: loss {0.98 * v:.4f}, time {31.2 + 4 * k:.2f}ms, mfu {18 + k}.40%\n"
    files[f"out-{shape}/train.log"] = text
folder("logs", "a log of nanoGPT for each shape, parameters printed at the start", files, t)

t = family(4425, [12e6, 35e6, 104e6, 310e6, 930e6, 2.8e9], 4, 1.95, 0.22)
rows = []
for k, (n, y) in enumerate(rows_of(t)):
    rows += [[f"run-{k + 1}", int(n), 2000 * i, 2000 * i * 2**19, round(0.985 * v, 4), v, "completed"] for i, v in enumerate(along(y, 11)) if i]
    if k == 2:
        rows += [["run-3b", 190000000, 2000 * i, 2000 * i * 2**19, round(0.985 * v, 4), v, "preempted"] for i, v in enumerate(along(2.5, 11)[:5]) if i]
add("logs", "checkpoints of runs of one length, one preempted", "checkpoints_all.csv", csv([["run", "params", "step", "tokens", "train_loss", "val_loss", "status"], *rows]), t)

step = np.array([1000.0, 2000, 3000, 5000, 7000, 10000, 14000, 20000, 28000, 40000, 56000, 80000, 110000, 160000])
t = line(4426, step * 2**19, 2.21, 1.25 * 1e9**0.3, 0.3, 4, 0.0015)
add("logs", "one training at a constant rate, tokens of a step in its first lines", "train_410M.log",
    "model: 410M decoder, data: dclm-baseline\nbatch: 256 sequences x 2048 tokens = 524288 tokens per step\nlr: 3e-4 constant after 200 steps of warmup\n\n" + "".join(
        f"step {int(i):6d} | train loss {y - 0.012:.4f} | val loss {y:.4f} | lr 3.00e-04 | {812 + 7 * k % 5} ms/step\n" for k, (i, y) in enumerate(zip(step, columns(t)[1], strict=True))), t)

# --- other fields -----------------------------------------------------------------------------------------------

t = shares(4427, [25, 50, 100, 200, 400, 800, 1600], 1, 0.06, 3.6, 0.47, 3)
add("other fields", "success of a robot by demonstrations, with deviations", "bc_results.md", "## Behaviour cloning, drawer task\n\nDiffusion policy, 500 evaluation episodes, mean ± std of 3 seeds.\n\n" + markdown(
    ["Demonstrations", "Success rate (%)"], [[int(n), f"{100 * (1 - e):.1f} ± {1.1 + 0.1 * (k % 3):.1f}"] for k, (n, e) in enumerate(rows_of(t))]), t)

# --- choices: to be asked back ----------------------------------------------------------------------------------

kinds = {"cifar10": rows_of(shares(4428, [1000, 3000, 10000, 25000, 50000], 1, 0.03, 2.9, 0.33)), "cifar100": rows_of(shares(4429, [1000, 3000, 10000, 25000, 50000], 1, 0.14, 3.9, 0.24))}
add("choices", "two data sets in one YAML file", "results.yaml", "model: wrn-28-10\nresults:\n" + "".join(
    f"  - dataset: {name}\n    n_train: {int(n)}\n    epochs: 200\n    test_error: {e:.4f}\n" for name, rows in kinds.items() for n, e in rows), choices=("dataset", "cifar100"))

losses = [rows_of(family(4430 + k, [60e6, 130e6, 300e6, 680e6, 1.4e9], 3, 1.84 - 0.03 * k, 0.23)) for k in range(3)]
add("choices", "a column of losses for each optimizer", "optimizers.md", "Final validation loss, 20B tokens, learning rate tuned for each optimizer.\n\n" + markdown(
    ["Params", "AdamW", "Lion", "Muon"], [[short(row[0][0]), *(f"{y:.3f}" for _, y in row)] for row in zip(*losses, strict=True)]), choices=("AdamW", "Muon"))

first, second = (rows_of(family(4433 + k, [52e6, 128e6, 370e6, 790e6, 1.4e9], 3, 1.88 - 0.06 * k, 0.22 + 0.03 * k)) for k in range(2))
add("choices", "two architectures on two sheets", "architectures.xlsx", book(None, **{
    name: pd.DataFrame([[int(n), 26, y] for n, y in rows], columns=["Parameters", "Tokens (B)", "Validation loss"]) for name, rows in (("Transformer", first), ("Mamba", second))}), choices=("Transformer", "Mamba"))
