import { afterEach, expect, it, vi } from "vitest";
import { savedWords, saving } from "../../src/ui/save";

afterEach(() => vi.unstubAllGlobals());

const AROUND = { frameElement: null } as unknown as Window;
const sandbox = (rights: string | null): Element => {
  const frame = document.createElement("iframe");
  if (rights !== null) frame.setAttribute("sandbox", rights);
  return frame;
};

it("has saved what a page that stands alone saves, also one without an origin", () => {
  vi.stubGlobal("origin", "null");
  expect(savedWords("copy as CSV")).toBe("Saved");
});

it("claims nothing in a frame without an origin, which cannot know its rights", () => {
  vi.stubGlobal("origin", "null");
  vi.stubGlobal("parent", AROUND);
  vi.stubGlobal("frameElement", null);
  expect(savedWords("copy as CSV")).toBe("If nothing was saved, this frame forbids it: copy as CSV");
});

it.each([
  [null, "allowed"],
  ["allow-scripts allow-downloads", "allowed"],
  ["allow-scripts", "forbidden"],
])("reads the rights of a frame that it may look at: %s", (rights, expected) => {
  vi.stubGlobal("origin", "http://localhost:6006");
  vi.stubGlobal("parent", AROUND);
  vi.stubGlobal("frameElement", sandbox(rights));
  expect(saving()).toBe(expected);
});
