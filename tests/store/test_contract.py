"""The contract of a store, as a class of tests that another store inherits."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.curves import Curves, run_name
from scalinglab.errors import BadInput
from scalinglab.store import RunBusy, Store, StoreError, StoreWarning
from tests.store.nursery import STEPS, Nursery, rows


def fill(store, numbers, n_steps=STEPS, **extra):
    for number in numbers:
        with store.start({"number": number, **extra}) as run:
            for row in rows({"number": number}, n_steps):
                run.append(row)


def check(store, runs=None):
    """Every run that is done has exactly its rows; if `runs` are given, they are all there is."""
    records = store.records()
    done = {run: record for run, record in records.items() if record.status == "done"}
    frame = store.curves(live=False).frame
    groups = dict(list(frame.groupby("run"))) if len(frame) else {}
    assert set(groups) >= set(done)  # more where a writer is at work
    for run, record in done.items():
        assert run == run_name(record.setting)
        found = groups[run][["step", "test_loss"]].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, pd.DataFrame(rows(record.setting)), check_exact=True)
    if runs is not None:
        assert set(records) == set(groups) == set(done) == set(runs)
    return done


def sealed_file(store, number):
    return store.path / "sealed" / f"{run_name({'number': number})}.parquet"


class TestStore:
    """What a store promises (the docstring of `scalinglab.Store`)."""

    @pytest.fixture(scope="class")
    @classmethod
    def nursery(cls):
        nursery = Nursery()
        yield nursery
        nursery.close()

    @pytest.fixture
    def store(self, tmp_path):
        return Store(tmp_path / "runs")

    # --- one writer ------------------------------------------------------------------------------------

    def test_a_finished_run_is_there_with_its_setting_and_what_made_it(self, store):
        with store.start({"number": 3, "model": "cnn"}, experiment="first", note="hello") as run:
            for row in rows({"number": 3}):
                run.append(row)
        record = store.records()[run.run]
        assert record.status == "done"
        assert record.setting == {"number": 3, "model": "cnn"}
        assert record.meta["version"] == sl.__version__
        assert {"packages", "host", "cpu", "cores", "gpu"} <= set(record.meta)
        assert record.meta["note"] == "hello"
        assert record.seconds >= 0
        curves = store.curves()
        assert set(curves["experiment"]) == {"first"}
        assert "number" in curves.setting_columns
        assert curves.measurement_columns == ["test_loss"]
        assert store.done({"model": "cnn", "number": 3.0})  # the same setting, written differently
        assert not store.done({"number": 4, "model": "cnn"})

    def test_a_run_in_progress_can_be_read_while_it_is_written(self, store):
        run = store.start({"number": 0})
        reader = Store(store.path)
        for done, row in enumerate(rows({"number": 0})):
            run.append(row)
            frame = reader.curves().frame
            assert len(frame) == done + 1
            assert set(frame["status"]) == {"running"}
        assert len(reader.curves(live=False)) == 0
        assert reader.status(run.run) == "running"
        run.seal()
        assert reader.status(run.run) == "done"
        assert set(reader.curves()["status"]) == {"done"}

    def test_a_run_that_raises_is_kept_as_failed_and_can_be_started_again(self, store):
        setting = {"number": 1}
        with pytest.raises(ZeroDivisionError), store.start(setting) as run:  # noqa: PT012
            run.append(step=0, test_loss=1.0)
            1 / 0  # noqa: B018
        assert store.status(setting) == "failed"
        assert "ZeroDivisionError" in store.failed()[run.run].error
        assert len(store.curves()) == 0
        assert len(store.curves(failed=True)) == 1
        assert not store.done(setting)
        fill(store, [1])
        assert store.status(setting) == "done"
        check(store, [run.run])

    def test_a_run_that_diverged_says_where(self, store):
        run = store.start({"number": 1})
        run.append(step=10, test_loss=float("inf"), train_loss=float("nan"))
        run.seal("diverged")
        frame = store.curves().frame
        assert frame["diverged_at"].tolist() == [10]
        assert frame["test_loss"].tolist() == [np.inf]
        assert frame["train_loss"].isna().all()
        assert store.done({"number": 1})

    def test_ctrl_c_leaves_the_run_unfinished_and_resume_goes_on(self, store):
        expected = rows({"number": 1})
        with pytest.raises(KeyboardInterrupt), store.start({"number": 1}) as run:  # noqa: PT012
            run.append(expected[0])
            raise KeyboardInterrupt
        assert list(store.unfinished()) == [run.run]
        again, so_far = store.resume({"number": 1})
        assert so_far == expected[:1]
        for row in expected:  # the first again: a checkpoint written twice counts once
            again.append(row)
        again.seal()
        check(store, [run.run])

    def test_a_run_that_is_done_is_not_started_again(self, store):
        fill(store, [1])
        with pytest.raises(StoreError, match=r"done already.*discard it first"):
            store.start({"number": 1})
        assert store.status({"number": 1}) == "done"
        store.compact()
        with pytest.raises(StoreError, match="done already"):
            store.start({"number": 1})
        store.discard(run_name({"number": 1}))
        fill(store, [1])
        check(store)

    def test_a_run_is_written_by_one_process_at_a_time(self, store, nursery):
        run = store.start({"number": 1})
        heard, _ = nursery.run(store.path, "write_all", [1, 2])
        assert heard[0] == {"refused": "RunBusy", "number": 1}
        assert "sealed" in heard[1]
        with pytest.raises(RunBusy, match="being written by another process"):
            store.discard(run.run)
        run.close()

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"step": 1, "test_error": 12.5}, "divide percent by 100"),
            ({"step": 1, "number": 2}, "number=2 in a row, but number is a setting.* and was 1"),
            ({"step": 1, "n_params": 2}, "n_params=2 in a row.* and was 7"),
            ({"step": 1, "run": "x"}, "cannot set 'run'"),
            ({"step": 1, "test_loss": [1, 2]}, "one number"),
            ({"step": 1, "test_loss": np.ones(3)}, "one number"),
            ({"step": 1, "phase": "warm-up"}, "text belongs to the setting"),
            ({}, "at least one value"),
        ],
    )
    def test_rows_that_would_spoil_the_table_are_refused_and_the_run_goes_on(self, store, row, message):
        run = store.start({"number": 1})
        run.append(step=0, n_params=7)
        with pytest.raises(BadInput, match=message):
            run.append(row)
        run.append(step=np.int64(1), test_loss=np.float32(0.5), number=1)  # its own setting may be repeated
        run.seal()
        assert store.curves()["test_loss"].tolist()[1:] == [0.5]
        assert store.curves()["n_params"].tolist() == [7, 7]  # a standard setting holds for the whole run
        with pytest.raises(BadInput, match="closed"):
            run.append(step=2)

    def test_settings_that_are_none_are_refused(self, store):
        for setting, message in (
            ({"step": 1}, "cannot be a setting"),
            ({1: 2}, "names are text"),
            (3, "dictionary"),
        ):
            with pytest.raises(BadInput, match=message):
                store.start(setting)
        with pytest.raises(BadInput, match="'train'"):
            store.start({"a": 1}, source="trian")

    def test_an_empty_store_gives_empty_curves(self, store):
        assert len(store.curves()) == 0
        assert store.records() == {}
        assert store.problems == {}
        assert store.compact() == 0
        assert store.status("nobody") == "missing"
        assert repr(store).endswith("no runs yet")

    # --- columns ---------------------------------------------------------------------------------------

    @pytest.mark.parametrize("compact", [False, True])
    def test_columns_that_appear_later_are_united_by_name(self, store, compact):
        later = [{"a": 1}, {"a": 2.5, "b": 3}, {"b": None}, {"d": True}]
        choices = [{}, {"choice": "text"}, {"choice": 7}, {"choice": None}]
        for number, (row, choice) in enumerate(zip(later, choices, strict=True)):
            with store.start({"number": number, **choice}) as run:
                run.append(step=0, test_loss=1.0)
                run.append(step=1, **row)
        if compact:
            store.compact()
        frame = store.curves().frame.sort_values(["number", "step"]).query("step == 1")
        np.testing.assert_array_equal(frame["a"], [1, 2.5, np.nan, np.nan])
        np.testing.assert_array_equal(frame["b"], [np.nan, 3, np.nan, np.nan])
        assert frame["choice"].fillna("-").tolist() == ["-", "text", "7", "-"]
        np.testing.assert_array_equal(frame["d"].astype(float), [np.nan, np.nan, np.nan, 1])

    def test_huge_integers_and_lists_in_settings_are_kept(self, store):
        setting = {"widths": [8, 16], "options": {"a": 1}}
        with store.start(setting) as run:
            run.append(step=1, compute=10**30, test_loss=1)
        frame = store.curves().frame
        assert frame["compute"].tolist() == [1e30]
        assert frame["widths"].tolist() == ["[8, 16]"]
        assert store.records()[run.run].setting == setting

    def test_finished_curves_can_be_added_and_stay_what_they_are(self, store):
        table = Curves(
            {"n_data": [1, 1, 2], "step": [1, 2, 1], "twist": [0.5, 0.5, 0.7], "test_loss": [3.0, 2.0, 1.0]},
            settings=["twist"], source="theory",
        )  # fmt: skip
        assert store.add(table) == table.runs
        assert store.add(table) == []
        back = store.curves()
        assert back.runs == table.runs
        assert "twist" in back.setting_columns
        pd.testing.assert_frame_equal(back.frame[table.frame.columns], table.frame, check_dtype=False)
        assert {record.source for record in store.records().values()} == {"theory"}

    def test_curves_added_from_another_store_keep_how_they_ended(self, store, tmp_path):
        for number, status in enumerate(["done", "diverged"]):
            run = store.start({"number": number})
            run.append(step=3, test_loss=1.0)
            run.seal(status)
        other = Store(tmp_path / "other")
        other.add(store.curves())
        expected = {run: (record.status, record.diverged_at) for run, record in store.records().items()}
        assert {
            run: (record.status, record.diverged_at) for run, record in other.records().items()
        } == expected
        left, right = (s.curves().frame.sort_values("run", ignore_index=True) for s in (store, other))
        pd.testing.assert_frame_equal(left, right[left.columns], check_dtype=False)

    def test_sealed_files_are_read_by_pandas_where_they_lie(self, store):
        fill(store, range(3))
        assert len(pd.read_parquet(store.path / "sealed")) == 3 * STEPS
        store.compact()
        assert len(pd.read_parquet(store.path / "sealed")) == 3 * STEPS
        assert len(sl.read(store.path)) == 3 * STEPS

    def test_pandas_reads_runs_that_measured_nothing_or_whole_numbers_beside_others(self, store):
        experiments, losses = [None, "a"], [None, 1, 0.5]
        settings = sorted(({"number": number} for number in range(6)), key=run_name)  # the order of the files
        for setting, experiment, loss in zip(settings, experiments * 3, losses * 2, strict=True):
            with store.start(setting, experiment=experiment) as run:
                run.append(step=1, test_loss=loss)
        frame = pd.read_parquet(store.path / "sealed").sort_values("run")
        assert frame["test_loss"].fillna(-1).tolist() == [-1, 1, 0.5] * 2
        assert frame["experiment"].fillna("").tolist() == ["", "a"] * 3
        assert frame["step"].dtype == "int64"

    # --- many processes --------------------------------------------------------------------------------

    def test_two_processes_share_the_work_and_each_run_is_stored_once(self, store, nursery):
        numbers = list(range(20))
        nursery.send(store.path, "write_all", numbers, background=True)
        nursery.send(store.path, "write_all", numbers[::-1], background=True)
        reader, sealed = Store(store.path), set()
        while len(sealed) < len(numbers):
            words = nursery.hear()
            assert "raised" not in words, words
            if "sealed" in words:
                sealed.add(words["sealed"])
            if len(sealed) % 4 == 0:
                check(reader)
        for _ in range(200):  # the slower one finds the rest done
            if check(reader) and not store.unfinished() and not any((store.path / "live").iterdir()):
                break
            time.sleep(0.01)
        check(reader, [run_name({"number": number}) for number in numbers])

    @pytest.mark.slow
    def test_compaction_beside_a_writer_and_a_reader_loses_nothing(self, store, nursery):
        numbers = list(range(30))
        nursery.send(store.path, "write_all", numbers, background=True)
        told: set[str] = set()
        failures: list[Exception] = []
        stop = threading.Event()

        def read():
            reader = Store(store.path)
            try:
                while not stop.is_set():
                    before = set(told)
                    assert before <= set(check(reader))
            except Exception as error:
                failures.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        while len(told) < len(numbers):
            words = nursery.hear()
            assert "raised" not in words, words
            if "sealed" in words:
                told.add(words["sealed"])
                if len(told) % 3 == 0:
                    store.compact()
        stop.set()
        thread.join()
        assert not failures, failures
        check(store, told)
        store.compact()
        check(store, told)

    @pytest.mark.slow
    def test_writers_killed_fifty_times_lose_no_sealed_run(self, store, nursery):
        chance = random.Random(0)
        told, left = set(), 0
        for writer in range(200):
            nursery.send(store.path, "write_forever", writer, background=True)
            while "writing" not in (words := nursery.hear()):
                told |= {words["sealed"]} if "sealed" in words else set()
            time.sleep(chance.uniform(0.0, 0.03))
            os.kill(words["writing"], signal.SIGKILL)
            # fifty at least, and more on a slow machine, until some were caught between two checkpoints
            if (
                writer >= 49
                and len(told) >= 50
                and any(0 < r.rows < STEPS for r in store.unfinished().values())
            ):
                break
        nursery.run(store.path, "compact")
        told |= {words["sealed"] for words in nursery.others if "sealed" in words}  # of the last ones
        done = check(store)
        assert told <= set(done)
        unfinished = store.unfinished()
        assert set(store.records()) == set(done) | set(unfinished)
        assert any(0 < record.rows < STEPS for record in unfinished.values())
        for number, record in enumerate(unfinished.values()):
            if number % 2 or not record.setting:
                store.discard(record.run)
                continue
            run, so_far = store.resume(record.setting)
            expected = rows(record.setting)
            assert so_far == expected[: len(so_far)]
            for row in expected[len(so_far) :]:
                run.append(row)
            run.seal()
            left += 1
        assert len(check(store)) == len(done) + left
        assert not store.unfinished()
        store.compact()
        check(store)
        assert {path.suffix for path in (store.path / "sealed").iterdir()} == {
            ".parquet"
        }  # nothing half-written
        assert not list((store.path / "live").iterdir())

    @pytest.mark.slow
    @pytest.mark.parametrize("act", ["seal", "compact", "discard"])
    def test_killed_at_each_step_everything_is_there_once_or_can_be_done_again(self, nursery, tmp_path, act):
        fresh = Store(tmp_path / "fresh")
        fill(fresh, [1, 2, 3])
        fresh.compact()
        fill(fresh, [4, 5])
        before = set(fresh.records())
        victim = run_name({"number": 1})
        tasks = {
            "seal": ("write_all", [[9]], before | {run_name({"number": 9})}),
            "compact": ("compact", [], before),
            "discard": ("discard", [victim], before - {victim}),
        }
        task, arguments, after = tasks[act]
        outcomes = []
        for step in range(1, 100):
            path = tmp_path / f"crash{step}"
            shutil.copytree(fresh.path, path)
            _, exit_code = nursery.run(path, task, *arguments, crash_at=step)
            store = Store(path)
            done = set(check(store))
            assert done in (before, after), f"at step {step}"
            assert store.problems == {}
            outcomes.append(done == after)
            nursery.run(path, task, *arguments)  # done again, it comes to its end
            store.compact()
            check(Store(path), after)
            assert len(list((path / "sealed").iterdir())) == 1
            if exit_code == 0:
                break
            assert exit_code == -signal.SIGKILL
        assert step >= 4  # there were steps to be killed at
        assert outcomes == sorted(outcomes)  # once the new state shows, it stays

    def test_a_pack_that_a_crash_left_behind_brings_no_discarded_run_back(self, store):
        fill(store, [1, 2])
        store.compact()
        (old,) = (store.path / "sealed").iterdir()
        data = old.read_bytes()
        fill(store, [3])
        store.compact()
        old.write_bytes(data)  # as if the compaction had been killed before it removed what it replaced
        check(Store(store.path), [run_name({"number": number}) for number in (1, 2, 3)])
        store.discard(run_name({"number": 1}))
        check(Store(store.path), [run_name({"number": number}) for number in (2, 3)])
        store.compact()
        check(Store(store.path), [run_name({"number": number}) for number in (2, 3)])

    # --- damage ----------------------------------------------------------------------------------------

    @pytest.mark.parametrize("damage", ["truncated", "empty", "garbage"])
    @pytest.mark.parametrize("packed", [False, True])
    def test_a_damaged_file_is_named_and_all_others_load(self, store, damage, packed):
        fill(store, range(5))
        path = sealed_file(store, 2)
        if packed:
            store.discard(run_name({"number": 2}))
            store.compact()
            (path,) = (store.path / "sealed").iterdir()
            fill(store, [7, 8, 9])
        data = path.read_bytes()
        path.write_bytes(
            {"truncated": data[: len(data) // 2], "empty": b"", "garbage": os.urandom(300)}[damage]
        )
        store = Store(store.path)
        with pytest.warns(StoreWarning, match=path.name):
            curves = store.curves()
        if packed and damage == "truncated":  # a copy of its footer finds the runs before the cut
            assert {7, 8, 9} <= set(curves["number"])
        else:
            assert set(curves["number"]) == ({7, 8, 9} if packed else {0, 1, 3, 4})
        assert list(store.problems) == [str(path)]
        store.compact()  # leaves the damaged file where it is
        assert list(store.problems) == [str(path)]
        if not packed:
            assert store.status(path.stem) == "unreadable"
            with pytest.raises(StoreError, match="discard"):
                store.start({"number": 2})
            store.discard(path.stem)
            fill(store, [2])
            check(store, [run_name({"number": number}) for number in range(5)])

    @pytest.mark.nightly
    def test_a_flipped_bit_is_reported_or_harmless_but_never_a_wrong_number(self, store):
        fill(store, [1, 2])
        path = sealed_file(store, 1)
        data = path.read_bytes()
        expected = store.curves().frame
        chance = random.Random(0)
        reported = 0
        for _ in range(30):
            place = chance.randrange(len(data))
            flipped = bytes([data[place] ^ 1 << chance.randrange(8)])
            path.write_bytes(data[:place] + flipped + data[place + 1 :])
            store = Store(store.path)
            frame = store.curves(warn=False).frame
            if problems := store.problems:
                assert list(problems) == [str(path)]
                expected_rows = expected[expected["number"] == 2]
                reported += 1
            else:
                expected_rows = expected
            pd.testing.assert_frame_equal(
                frame.reset_index(drop=True), expected_rows.reset_index(drop=True), check_exact=True
            )
        assert reported > 10

    def test_a_damaged_line_of_a_live_run_is_reported_and_a_torn_last_one_is_normal(self, store):
        fill(store, [1])
        run = store.start({"number": 2})
        for row in rows({"number": 2}):
            run.append(row)
        run.close()
        whole = run.path.read_bytes()
        run.path.write_bytes(whole[:-7])
        assert len(store.curves().select(number=2)) == STEPS - 1
        assert store.problems == {}
        lines = whole.split(b"\n")
        run.path.write_bytes(b"\n".join([*lines[:3], b'{"step": 2, "te\x00\xff', *lines[4:]]))
        with pytest.warns(StoreWarning, match="jsonl.*line 4"):
            curves = store.curves()
        assert len(curves.select(number=2)) == 2
        assert len(curves.select(number=1)) == STEPS
        with pytest.warns(StoreWarning, match="2 rows intact"):
            again, so_far = store.resume({"number": 2})
        assert len(so_far) == 2
        for row in rows({"number": 2}):
            again.append(row)
        again.seal()
        check(store)

    # --- a disk that does not take it ------------------------------------------------------------------

    @pytest.mark.parametrize(("limit", "until"), [(2500, 1000), (2000, 20), (100, 5)])
    def test_a_full_disk_is_a_clear_error_and_damages_nothing(self, store, nursery, limit, until):
        fill(store, [1])
        heard, _ = nursery.run(store.path, "full_disk", {"number": 2}, limit, until)
        assert "cannot write" in heard[0]["error"], heard
        assert "then resume" in heard[0]["error"]
        check(store)
        assert store.problems == {}
        run, so_far = store.resume({"number": 2})
        assert (
            so_far == rows({"number": 2}, until)[: heard[0].get("written", 0)]
        )  # every line that was accepted
        for row in rows({"number": 2}):
            run.append(row)
        run.seal()
        assert {path.suffix for path in (store.path / "sealed").iterdir()} == {".parquet"}

    def test_on_a_disk_that_is_really_full_the_rows_before_survive(self, tmp_path):
        folder = tmp_path / "small"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder]
        if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("mounting a small file system needs root")
        try:
            store = Store(folder / "runs")
            fill(store, [1])
            run = store.start({"number": 2})
            written = 0

            def write():
                nonlocal written
                for row in rows({"number": 2}, 100_000):
                    run.append(row)
                    written += 1

            with pytest.raises(StoreError, match="No space left on device"):
                write()
            with pytest.raises(StoreError, match="No space left on device"):
                run.seal()
            assert len(store.curves().select(number=2)) == written
            assert len(store.curves().select(number=1)) == STEPS
            assert store.problems == {}
            run.close()
            store.discard(run.run)
            fill(store, [2])
            check(store)
        finally:
            subprocess.run(["umount", folder], check=True)

    def test_a_read_only_folder_is_a_clear_error_and_can_still_be_read(self, nursery):
        folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
        try:
            folder.chmod(0o755)
            store = Store(folder / "runs")
            fill(store, [1])
            places = [store.path, store.path / "live", store.path / "sealed"]
            for place in places:
                place.chmod(0o555)
            heard, _ = nursery.run(store.path, "read_only", {"number": 2})
            assert len(heard) == 4, heard
            for words in heard[:3]:
                assert "Permission denied; you may not write there" in words["error"]
            assert heard[3] == {"rows": STEPS}
            check(store, [run_name({"number": 1})])
        finally:
            for place in places:
                place.chmod(0o755)
            shutil.rmtree(folder)

    def test_a_file_in_the_way_of_the_folder_is_a_clear_error(self, tmp_path):
        (tmp_path / "runs").write_text("I am a file")
        with pytest.raises(BadInput, match="a store is a folder"):
            Store(tmp_path / "runs")
