import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it } from "vitest";
import { CaptureHead } from "../../src/ui/capture-head";
import { capture } from "../build";

const root = document.createElement("div");

afterEach(() => render(null, root));

function head(batches_each: string): string | null {
  act(() => render(<CaptureHead capture={capture({ steps: { count: 50, batches_each } })} name="run" />, root));
  return root.textContent;
}

it("says of steps with several batches how many: samples per second fit no step of one", () => {
  expect(head("4 batches")).toContain("steps of 4 batches · ");
  expect(head("")).toContain("steps · ");
});
