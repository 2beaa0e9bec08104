// View and capture in the iframe's hash, so that a reload of the frame or a copied address keeps them. TensorBoard builds
// the frame anew when its own page reloads, so the tab's session storage keeps a second copy.

import { VIEWS, type View } from "./atoms";

export type Place = { readonly view: View; readonly capture: string | null };

const STORAGE_KEY = "data-pipeline-place";

export function parsePlace(hash: string): Place | null {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const view = VIEWS.find((name) => name === params.get("view"));
  return view === undefined ? null : { view, capture: params.get("capture") };
}

export function formatPlace(place: Place): string {
  const params = new URLSearchParams({ view: place.view });
  if (place.capture !== null) params.set("capture", place.capture);
  return `#${params.toString()}`;
}

export function readPlace(): Place {
  let stored = "";
  try {
    stored = window.sessionStorage.getItem(STORAGE_KEY) ?? "";
  } catch {
    // storage may be forbidden; the hash alone will do
  }
  return parsePlace(window.location.hash) ?? parsePlace(stored) ?? { view: "overview", capture: null };
}

export function writePlace(place: Place): void {
  const hash = formatPlace(place);
  // An absolute address: TensorBoard's <base> would bend a bare "#..." to another page.
  try {
    if (window.location.hash !== hash) window.history.replaceState(null, "", new URL(hash, window.location.href).href);
  } catch {
    // a page that was opened as a file may not: then its address stays
  }
  try {
    window.sessionStorage.setItem(STORAGE_KEY, hash);
  } catch {
    // see readPlace
  }
}
