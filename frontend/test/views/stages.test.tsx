import { act } from "preact/test-utils";
import { expect, it } from "vitest";
import { currentPlace, showPlace } from "../../src/state/actions";
import { stageSearch, stageSort, stagesFlat } from "../../src/state/atoms";
import { fieldsOfPlace, placeOfFields, START } from "../../src/state/place";
import { readTable } from "../../src/ui/table-reader";
import { stage } from "../build";
import { all, click, find, open, plain, type as typeIn } from "../page";

const paths = (): string[] => all("stage-row").map((row) => row.dataset.path ?? "");

it("says in the report's words which stage has the highest self time", () => {
  const summary = {
    self_us: 10,
    self_by_kind_us: { read: 3, decode: 7 },
    sentence: "decode::PIL has it.",
    wait_text: "all in stages",
    self_text: "7 µs in 1 DataLoader worker, 3 µs in the training thread",
  };
  const root = open({ stages: [stage(["decode::PIL"], {})], stage_summary: summary, loader: { wait_us: 4 } }, "stages");
  expect(find("stages-sentence").textContent).toBe("decode::PIL has it.");
  expect(find("number-stage-time").dataset.value).toBe("10");
  expect(find("number-stage-time").nextElementSibling?.textContent).toBe(summary.self_text);
  expect(find("number-stages-wait").nextElementSibling?.textContent).toBe("all in stages");
  expect(root.querySelector(".strip")?.getAttribute("aria-label")).toBe("decode 70.0%, read 30.0%");
});

it("nests stages by path and folds a branch", () => {
  const root = open(
    { stages: [stage(["sample::D"], { total_us: 9 }), stage(["sample::D", "read::open"], { total_us: 4.5 })] },
    "stages",
  );
  expect(paths()).toEqual(["sample::D", "sample::D > read::open"]);
  click(root.querySelector<HTMLElement>("button.fold"));
  expect(paths()).toEqual(["sample::D"]);
});

it("says why there is no stage data, and what to type", () => {
  open(
    { diagnostics: [{ topic: "stages", code: "no_stage_markers", count: 1, message: "No stage markers." }] },
    "stages",
  );
  expect(find("unavailable-state").textContent).toContain("This capture has no stage data.No stage markers.");
  expect(find("stages-code").textContent).toContain("annotate.profile");
});

it("names a stage with where it lies in a copy of the table", () => {
  open({ stages: [stage(["wait::L", "sample::D"], {}), stage(["wait::L", "sample::D", "read::open"], {})] }, "stages");
  const { rows } = readTable(find("stage-table") as HTMLTableElement);
  expect(rows.map(([name]) => name?.text)).toEqual(["sample::D", "sample::D > read::open"]);
});

it("sorts stages by a click on a column head, and turns round at the next", () => {
  const root = open({ stages: [stage(["read::a"], { self_us: 1 }), stage(["read::b"], { self_us: 9 })] }, "stages");
  const head = root.querySelector<HTMLElement>('[data-head="self_us"] button');
  click(head);
  expect(paths()).toEqual(["read::b", "read::a"]);
  click(head);
  expect(paths()).toEqual(["read::a", "read::b"]);
});

it("shows markup in names as text", () => {
  const root = open({ stages: [stage(["user::<img src=x>"], {})] }, "stages");
  expect(root.querySelector("img")).toBeNull();
  expect(root.textContent).toContain("<img src=x>");
});

it("drops the wait from a stage's path in the flat table", () => {
  stagesFlat.value = true;
  const stages = [
    stage(["wait::DataLoader", "sample::D", "user::io::outer", "read::open"], {}),
    stage(["wait::DataLoader", "collate::c"], {}),
  ];
  const root = open({ stages }, "stages");
  expect([...root.querySelectorAll(".in-path")].map((path) => path.textContent)).toEqual(["in D › io::outer"]);
});

it("shows evidence of stages only where there is any", () => {
  const cpu = { self_us: 10, cpu_self_us: 9, run_delay_us: 0.5, blocked_us: 0.5, limited_by: "cpu" };
  const known = stage(["decode::PIL"], { ...cpu, limited_by_text: "90.0% running.", bytes: 4000, count: 2 });
  const mixed = stage(["decode::b"], { ...cpu, limited_by: "" });
  const long = stage(["decode::c"], { ...cpu, limited_by: "", self_us: 1000, count: 1 });
  const root = open({ stages: [known, mixed, stage(["read::open"], {}), long] }, "stages");
  const cells = [...root.querySelectorAll<HTMLElement>('[data-column="limited_by"]')];
  expect(cells.map((cell) => cell.dataset.value)).toEqual(["cpu", undefined, undefined, undefined]);
  expect([cells[0]?.textContent, cells[0]?.title, cells[1]?.textContent, cells[3]?.textContent]).toEqual([
    "CPU-bound",
    "90.0% running.",
    "too short to tell",
    "mixed",
  ]);
  expect(cells[2]?.querySelector("abbr")?.title).toContain("not recorded");
  expect(root.querySelector<HTMLElement>('[data-column="bytes_per_call"]')?.dataset.valueBytes, "of one call").toBe(
    "2000",
  );
  open({ stages: [stage(["decode::PIL"], {})] }, "stages");
  expect(root.querySelector('[data-head="limited_by"], [data-head="bytes_per_call"]')).toBeNull();
});

it("shows what contention costs only where a replay stands beside the run", () => {
  const live = stage(["sample::D"], { replay_mean_us: 2.5, replay_ratio: 1.68 });
  const root = open({ stages: [live, stage(["read::open"], {})] }, "stages");
  const cell = root.querySelector<HTMLElement>('[data-column="replay_ratio"]');
  expect([cell?.textContent, cell?.dataset.value]).toEqual(["1.7x", "1.68"]);
  expect(plain(cell?.title)).toContain("self 4.20 µs per call here, 2.50 µs in the replay");
  expect(root.querySelector('[data-head="replay_mean_us"]')?.textContent).toContain("per call");
  expect(root.querySelectorAll('[data-column="replay_ratio"] abbr').length).toBe(1);
  open({ stages: [stage(["sample::D"], {})] }, "stages");
  expect(root.querySelector('[data-column="replay_ratio"]')).toBeNull();
});

it("says that nothing has the words that are searched, and clears them", () => {
  open({ stages: [stage(["read::open"], {})] }, "stages");
  typeIn(find("search"), "zzz");
  expect(all("stage-table")).toEqual([]);
  expect(find("search-count").textContent).toBe("Nothing has these words.");
  click(find("clear-search"));
  expect(paths()).toEqual(["read::open"]);
});

it("calls a kind of stage in its strip as the timeline does", () => {
  const root = open(
    { stages: [stage(["h2d::copy", "read::open"], {})], stage_summary: { self_by_kind_us: { h2d: 5 } } },
    "stages",
  );
  expect(root.querySelector(".strip-figure .legend")?.textContent).toContain("host-to-device copy");
});

it("keeps what was searched, and the place, while one of the stages is looked at", () => {
  open({ stages: [stage(["read::open"], {}), stage(["decode::PIL"], {})] }, "stages");
  typeIn(find("search"), "pil");
  click(find("stage-link"));
  act(() => (document.activeElement as HTMLElement | null)?.blur());
  click(find("all-stages"));
  expect(paths()).toEqual(["decode::PIL"]);
  expect(document.activeElement, "the focus comes back to where it left").toBe(find("stage-link"));
});

it("is restored by a link: sorted, flat, narrowed to the words that were searched", () => {
  open({ stages: [stage(["read::a"], { self_us: 1 }), stage(["read::b"], { self_us: 9 })] }, "stages");
  click(document.querySelector<HTMLElement>('[data-head="self_us"] button'));
  act(() => {
    stagesFlat.value = true;
    stageSearch.value = "read";
  });
  const fields = fieldsOfPlace(currentPlace());
  expect(fields).toMatchObject({ sort: "stages.-self_us", flat: "on", search: "read" });
  act(() => showPlace(placeOfFields({ view: "stages" }) ?? START));
  expect([stagesFlat.value, stageSearch.value, stageSort.value.column]).toEqual([false, "", "total_us"]);
  act(() => showPlace(placeOfFields({ ...fields, sort: "stages.-self_us,nonsense" }) ?? START));
  expect([stagesFlat.value, stageSearch.value, stageSort.value.column]).toEqual([true, "read", "self_us"]);
  expect(paths()).toEqual(["read::b", "read::a"]);
});

it("names the parts of the data wait that have no row, whatever is searched", () => {
  const wait_by_stage_us = { "decode::PIL": 6, "transfer::deserialise": 3, starved: 1 };
  open({ stages: [stage(["decode::PIL"], {})], loader: { wait_us: 10, wait_by_stage_us } }, "stages");
  act(() => {
    stageSearch.value = "transfer";
  });
  expect(all("stage-row")).toEqual([]);
  expect(plain(find("without-row").textContent)).toBe(
    "Data wait without a row, as no stage caused it: transfer::deserialise 3.00 µs (30.0%), no index yet (not drawn) 1.00 µs (10.0%).",
  );
});

it("says what else than the loop is in the table", () => {
  const stages = [stage(["decode::PIL"], {})];
  open({ stages, loader: { wait_us: 10, apart: { wait_names: "the other DataLoader" } } }, "stages");
  expect(find("stages-apart").textContent).toContain("include the other DataLoader, which the verdict leaves out");
  open({ stages, loader: { wait_us: 10 } }, "stages");
  expect(all("stages-apart")).toEqual([]);
});

it("shows the table of all when its tab is clicked, wherever the page of a stage was left", () => {
  open({ stages: [stage(["decode::PIL"], {})] }, "stages");
  click(find("stage-link"));
  click(find("tab-overview"));
  click(find("tab-stages"));
  expect(all("stage-page")).toEqual([]);
  expect(find("stage-table")).toBeDefined();
});

it("says what the bars are", () => {
  open({ stages: [stage(["decode::PIL"], {})] }, "stages");
  expect(find("stage-table").querySelector(".bar-head")?.textContent).toContain("Total, self");
});
