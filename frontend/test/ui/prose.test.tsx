import { render } from "preact";
import { expect, it } from "vitest";
import { Prose } from "../../src/ui/prose";
import { capture, finding } from "../build";
import { find, open } from "../page";

it("sets what stands between backticks as code, and leaves a single one alone", () => {
  const root = document.createElement("p");
  render(<Prose text="Run `a <b>` or `c`, not `d." />, root);
  expect(root.innerHTML).toBe("Run <code>a &lt;b&gt;</code> or <code>c</code>, not `d.");
});

it("does so wherever the report speaks", () => {
  const text = "see `x.py`";
  const [one, sentence] = [finding({ title: text, advice: text, evidence: [{ text }] }), text];
  const report = { findings: [one], findings_sentence: text, verdict: { sentence }, doubts: [{ code: "d", sentence }] };
  for (const view of ["findings", "overview"] as const) {
    const page = open({ ...capture(report), abstained: [{ rule: "r", title: "t", reason: text }] }, view);
    expect(page.textContent).not.toContain("`");
  }
  expect(find("finding").querySelectorAll("code")).toHaveLength(3);
});
