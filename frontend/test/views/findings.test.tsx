import { expect, it } from "vitest";
import { finding, stage } from "../build";
import { all, click, find, open, plain } from "../page";

it("says of each finding what was seen, what to do, what it may gain and how far it can be trusted", () => {
  const one = finding({
    title: "Slow decode",
    advice: "Decode less.",
    evidence: [{ text: "12 calls" }],
    code: "x = 1",
    gain_us_per_step: 5,
    gain_step_share: 0.2,
    gain_share_text: "20.0% of a step of 25.0 µs",
    speedup: 1.25,
    gain_us: 20,
    gain_text: "saves up to 5.00 µs per step (20.0% of it, 1.3x as fast)",
    confidence: "likely",
    confidence_reason: "There is no replay.",
  });
  open({ findings: [one] }, "findings");
  const text = plain(find("finding").textContent);
  for (const part of [
    "Slow decode",
    "12 calls",
    "Decode less.",
    "x = 1",
    "saves up to 5.00 µs",
    "per step, 20.0% of a step of 25.0 µs",
    "1.3x as fast",
    "20.0 µs of the window",
    "There is no replay.",
  ])
    expect(text).toContain(part);
  expect(find("finding-gain").dataset.value).toBe("5");
  expect(find("finding-code").querySelector("button")?.textContent).toBe("Copy");
});

it("leads to the stage that the title is about", () => {
  const one = finding({ stage: "decode::PIL", title_stage: "transform::Crop" });
  open({ findings: [one], stages: [stage(["transform::Crop"], {}), stage(["decode::PIL"], {})] }, "findings");
  expect(find("finding-stage").textContent).toBe("transform::Crop");
});

it("says so where the gain is unknown", () => {
  open({ findings: [finding({})] }, "findings");
  expect(find("finding").textContent).toContain("gain unknown");
  expect(find("number-largest-gain").textContent).toBe("–");
});

it("lists findings in the report's order with their severity, and inconclusive checks in words", () => {
  const findings = [finding({ severity: "low" }), finding({ severity: "high" })];
  const abstained = [{ rule: "too_few_workers", title: "Too few DataLoader workers", reason: "No records." }];
  open({ findings, abstained, findings_sentence: "2 things to change." }, "findings");
  expect(find("findings-sentence").textContent).toBe("2 things to change.");
  expect(all("finding").map((item) => item.dataset.severity)).toEqual(["low", "high"]);
  expect(find("finding").querySelector(".severity")?.textContent).toBe("low");
  expect(find("abstention").textContent).toBe("Too few DataLoader workersNo records.");
});

it("says of gains that do not add up what they save together, and how certain a gain is", () => {
  const gain = finding({ gain_us_per_step: 5, gain_high_us_per_step: 6.5 });
  const sentences = { findings_sentence: "1 thing to change.", gains_sentence: "Together at most 5.00 µs." };
  for (const view of ["overview", "findings"] as const) {
    open({ findings: [gain], ...sentences }, view);
    expect(find("gains-sentence").textContent).toBe("Together at most 5.00 µs.");
  }
  expect(plain(find("finding-gain").parentElement?.textContent)).toBe("saves up to 5.00 µs");
});

it("keeps what is said of a finding beside its name, on paper too", () => {
  const root = open({ findings: [finding({ evidence: [], code: "x = 1" })] }, "findings");
  const parts = [...root.querySelectorAll(".finding-part")];
  expect(parts.map((part) => part.querySelector("dt")?.textContent)).toContain("What to do");
  expect(parts.every((part) => part.querySelector("dd") !== null)).toBe(true);
});

it("has a form for nothing to change", () => {
  open({ findings_sentence: "Nothing to change: the device is busy.", loader: { wait_us: 1 } }, "findings");
  expect(find("no-findings").textContent).toBe("Nothing to change: the device is busy.");
  expect(find("number-abstained").parentElement?.textContent).toContain("all checks were conclusive");
});

it("says where nothing could be checked, in place of nothing found", () => {
  const root = open({ findings_sentence: "Whether there is anything to change is unknown." }, "findings");
  expect(root.textContent).not.toMatch(/were conclusive|found anything/);
  expect(find("number-abstained").parentElement?.textContent).toContain("no check could run");
});

it("leads from a finding to its stage", () => {
  const stages = [stage(["decode::PIL"], {}), stage(["read::open"], {})];
  open({ findings: [finding({ stage: "decode::PIL" })], stages }, "findings");
  click(find("stage-ref"));
  expect(find("stage-page").dataset.stage).toBe("decode::PIL");
});
