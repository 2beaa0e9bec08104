import { act } from "preact/test-utils";
import { expect, it, vi } from "vitest";
import { TERMS } from "../../src/contract/words";
import { httpSource, useSource } from "../../src/data/source";
import { meaningOfTerm } from "../../src/model/terms";
import { device } from "../build";
import { all, click, find, open } from "../page";

it("explains a number's word where it stands, by the vocabulary's own sentence", () => {
  open({ loader: { wait_us: 12 }, devices: [device({})] }, "overview");
  const words = [...document.querySelectorAll<HTMLElement>(".number dt .explained")];
  const found = words.find((word) => word.textContent === "Exposed data wait");
  expect(found?.title).toBe("Data wait while the device is idle.");
  expect(meaningOfTerm("no such term")).toBeUndefined();
});

it("opens keys and terms by a button and by ?, but not while somebody types", () => {
  open({}, "overview");
  expect(find("help").textContent).toBe("");
  click(find("help-button"));
  for (const { label, meaning } of TERMS) {
    expect(find("help").textContent).toContain(label);
    expect(find("help").textContent).toContain(meaning);
  }
  const press = (target: EventTarget): void =>
    void act(() => void target.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true })));
  press(document.body);
  expect(find("help").textContent).toBe("");
  const field = document.createElement("input");
  document.body.append(field);
  press(field);
  expect(find("help").textContent).toBe("");
  field.remove();
  press(document.body);
  expect(find("help").textContent).toContain("next idle gap");
  expect(all("help").length).toBe(1);
});

it("links to the documents where there is a server that has them", () => {
  open({}, "overview");
  click(find("help-button"));
  const links = all("document").map((link) => new URL((link as HTMLAnchorElement).href).pathname);
  expect(links.length).toBeGreaterThan(8);
  expect(links[0]).toMatch(/\/docs\/capture\.md$/);
});

it("says of a report in a file what that does without, and of the tab nothing", () => {
  open({}, "overview");
  click(find("help-button"));
  expect(all("help-file")).toEqual([]);
  useSource({ ...httpSource, live: false });
  open({}, "findings");
  for (const word of ["comparisons", "Trace", "steps", "predictions"])
    expect(find("help-file").textContent).toContain(word);
  useSource(httpSource);
});

it("prints all views of this page alone, once the help is gone", () => {
  vi.useFakeTimers();
  const print = vi.fn();
  vi.stubGlobal("print", print);
  open({ loader: { wait_us: 12 } }, "overview");
  click(find("help-button"));
  click(find("print"));
  vi.runAllTimers();
  expect(print).toHaveBeenCalledOnce();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
