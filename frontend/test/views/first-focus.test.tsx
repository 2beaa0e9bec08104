import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { chosenSteps } from "../../src/state/atoms";
import { takeFocus } from "../../src/views/shared/first-focus";
import { click, find, open } from "../page";

afterEach(() => vi.unstubAllGlobals());

it("takes the keys when the page opens, unless something around it has the focus", () => {
  const focus = vi.fn();
  vi.stubGlobal("focus", focus);
  takeFocus();
  expect(focus, "a page of its own has them").not.toHaveBeenCalled();
  const host = document.implementation.createHTMLDocument();
  vi.stubGlobal("parent", { document: host });
  vi.spyOn(host, "activeElement", "get").mockReturnValue(host.createElement("input"));
  takeFocus();
  expect(focus).not.toHaveBeenCalled();
  vi.spyOn(host, "activeElement", "get").mockReturnValue(host.body);
  takeFocus();
  expect(focus).toHaveBeenCalledOnce();
});

it("keeps the focus in the view when a press takes its button away", async () => {
  chosenSteps.value = "2..3";
  open({ selection: { first: 2, last: 3, sentence: "Steps 2 to 3 only." } }, "overview");
  const button = find("all-steps");
  button.focus();
  click(button);
  await act(() => new Promise<void>((resolve) => setTimeout(resolve)));
  expect(button.isConnected).toBe(false);
  expect(document.activeElement?.id).toBe("view");
});
