// Keeps the address in step with what is on screen, both ways. TensorBoard may forget our part of its address (somebody
// types the tab's name alone), so the browser tab's session storage keeps a second copy.

import { effect } from "@preact/signals";
import { browserTimers, type Timers } from "../data/poll";
import { source } from "../data/source";
import { currentPlace, settleSelection, showPlace } from "./actions";
import { type Address, fieldsOfOwnHash, findAddress, ownHash } from "./address";
import { goneId, isLedToWhatIf, isReturn, sideAfter, sideBefore, unknownSteps, unknownView } from "./atoms";
import { after, before } from "./comparing";
import {
  type Fields,
  fieldsOfPlace,
  type Place,
  placeOfFields,
  placeOfView,
  START,
  stepsThatAreNone,
  viewThatIsNone,
} from "./place";

/** By page: HTML reports that one browser tab opens one after the other share their storage. */
const storageKey = (): string => `data-pipeline-place ${window.location.pathname}`;
/** Browsers refuse more than some hundred changes in half a minute: a zoom is written when it rests. */
const REST_MS = 300;

function stored(): Fields {
  try {
    return fieldsOfOwnHash(window.sessionStorage.getItem(storageKey()) ?? "");
  } catch {
    return {}; // storage may be forbidden; the address alone will do
  }
}

function store(fields: Fields): void {
  try {
    window.sessionStorage.setItem(storageKey(), ownHash(fields));
  } catch {
    // see above
  }
}

function same(a: Place, b: Place): boolean {
  return ownHash(fieldsOfPlace(a)) === ownHash(fieldsOfPlace(b));
}

/**
 * Another view, capture, stage, flame graph, comparison, prediction, link of a chain or other steps are somewhere else,
 * where Back leads back from.
 */
function isElsewhere(from: Place, to: Place): boolean {
  if (from.capture === null || from.capture === goneId.peek()) return false;
  if (from.view !== to.view || from.capture !== to.capture) return true;
  const isOtherComparison = to.view === "compare" && (from.before !== to.before || from.after !== to.after);
  const isOtherFlame = (to.view === "flame" || to.view === "compare") && from.flame !== to.flame;
  const isOtherLink = to.view === "gaps" && to.link !== null && from.link !== to.link;
  if (isOtherComparison || isOtherFlame || isOtherLink) return true;
  return from.stage !== to.stage || from.steps !== to.steps || from.whatIf !== to.whatIf;
}

export class PlaceKeeper {
  /** What the address says, or will say when the zoom rests. */
  private written: Place = START;
  private cancel: () => void = () => undefined;

  constructor(
    private readonly address: Address,
    private readonly timers: Timers = browserTimers,
  ) {}

  /** Shows what the address says, else what was shown last in this browser tab; from then on writes what changes. */
  start(): () => void {
    const place = placeOfFields(this.address.read()) ?? placeOfFields(stored()) ?? START;
    showPlace(place);
    this.sayUnknown();
    isLedToWhatIf.value = place.whatIf !== null;
    this.written = currentPlace();
    this.write(false);
    const stop = effect(() => this.follow(currentPlace()));
    return () => {
      stop();
      this.cancel();
    };
  }

  /** Back, Forward, or an address typed over ours. */
  readonly onNavigation = (): void => {
    const place = placeOfFields(this.address.read());
    if (place === null) {
      this.write(false);
      return;
    }
    this.cancel();
    this.written = place;
    isReturn.value = true;
    showPlace(place);
    // A file is not listed anew: what it lacks now it lacks for good.
    if (!source().live) settleSelection();
    this.sayUnknown();
  };

  link(): string {
    // The sides that suggest themselves today may be others tomorrow.
    const sides = {
      before: before.value?.key ?? sideBefore.value,
      after: after.value?.key ?? sideAfter.value,
    };
    return this.address.link(fieldsOfPlace(placeOfView({ ...currentPlace(), ...sides })));
  }

  /** What of the address is not understood. A file has no other steps than its own. */
  private sayUnknown(): void {
    const fields = this.address.read();
    unknownView.value = viewThatIsNone(fields);
    unknownSteps.value = source().live ? stepsThatAreNone(fields) : null;
  }

  private follow(place: Place): void {
    if (same(place, this.written)) return;
    const elsewhere = isElsewhere(this.written, place);
    const isOtherGap = this.written.gapUs !== place.gapUs;
    if (elsewhere) isReturn.value = false;
    // The entry that is left keeps the zoom it was left with.
    if (elsewhere) this.write(false);
    this.written = place;
    this.cancel();
    if (elsewhere) this.write(true);
    else if (isOtherGap) this.write(false);
    else this.cancel = this.timers.after(REST_MS, () => this.write(false));
  }

  private write(push: boolean): void {
    this.cancel();
    const fields = fieldsOfPlace(this.written);
    this.address.write(fields, push);
    store(fields);
  }
}

let keeper: PlaceKeeper | null = null;

/** Called once, before the page is drawn. */
export function keepPlace(): void {
  const { address, target } = findAddress();
  const made = new PlaceKeeper(address);
  keeper = made;
  made.start();
  for (const event of ["popstate", "hashchange"]) target.addEventListener(event, made.onNavigation);
  // TensorBoard may outlive this frame.
  window.addEventListener("pagehide", () => {
    for (const event of ["popstate", "hashchange"]) target.removeEventListener(event, made.onNavigation);
  });
}

/** A link to what is on screen. */
export function linkHere(): string {
  return keeper?.link() ?? window.location.href;
}
