// Explanations: a word that has one can be hovered, focused and tapped.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { Prose } from "./prose";
import { Tooltip } from "./tooltip";

/** Words with an explanation, as a stop of the Tab key. */
export function Explained({ text, children }: { text: string; children: ComponentChildren }) {
  return (
    <button type="button" class="explained" title={text}>
      {children}
    </button>
  );
}

/** `aboveY`: see `Tooltip`. */
type Place = { readonly x: number; readonly y: number; readonly aboveY?: number };
type Shown = { readonly text: string; readonly place: Place };

const HOVER_MS = 300;

/** Shows the `title` of what is hovered, focused or tapped: browsers show it to a resting mouse only, and late. */
export function Explanations() {
  const shown = useSignal<Shown | null>(null);
  useEffect(() => {
    const shower = new Shower((next) => {
      shown.value = next;
    });
    return shower.listen();
  }, []);
  if (shown.value === null) return null;
  return (
    <Tooltip {...shown.value.place}>
      {shown.value.text.split("\n").map((line) => (
        <p key={line}>
          <Prose text={line} />
        </p>
      ))}
    </Tooltip>
  );
}

/** Holds an element's title while the explanation stands there, so that the browser does not show it as well. */
class Shower {
  private element: HTMLElement | null = null;
  private title = "";
  private timer = 0;
  /** Where the pointer rests since a click: what comes to lie under it was not gone to. */
  private clicked: Pick<Place, "x" | "y"> | null = null;

  constructor(private readonly show: (shown: Shown | null) => void) {}

  listen(): () => void {
    const listeners: ReadonlyArray<readonly [string, (event: never) => void]> = [
      ["pointerover", this.onOver],
      ["pointermove", this.onMove],
      ["focusin", this.onFocus],
      ["focusout", this.hide],
      ["click", this.onClick],
      ["keydown", this.onKey],
      ["scroll", this.hide],
    ];
    for (const [name, listener] of listeners) document.addEventListener(name, listener as EventListener, true);
    return () => {
      this.hide();
      for (const [name, listener] of listeners) document.removeEventListener(name, listener as EventListener, true);
    };
  }

  private readonly onOver = (event: PointerEvent): void => {
    const element = titledAround(event.target);
    if (event.pointerType !== "mouse" || this.rests(event) || this.isOpenAround(event.target, element)) return;
    this.hide();
    if (element === null) return;
    this.timer = window.setTimeout(() => this.open(element, { x: event.clientX, y: event.clientY }), HOVER_MS);
  };

  private readonly onMove = (event: PointerEvent): void => {
    if (this.clicked === null || this.rests(event)) return;
    this.clicked = null;
    this.onOver(event);
  };

  private rests({ clientX, clientY }: PointerEvent): boolean {
    return this.clicked?.x === clientX && this.clicked.y === clientY;
  }

  /** Only where the keyboard led there: a click has shown it already. */
  private readonly onFocus = (event: FocusEvent): void => {
    const element = titledAround(event.target);
    if (element === null || !(event.target as Element).matches(":focus-visible")) return;
    const { left } = element.getBoundingClientRect();
    const { top, bottom } = (element.closest(".number") ?? element).getBoundingClientRect();
    this.open(element, { x: left - 14, y: bottom - 8, aboveY: top + 8 });
  };

  private readonly onClick = (event: MouseEvent): void => {
    const element = titledAround(event.target);
    this.clicked = { x: event.clientX, y: event.clientY };
    if (this.element?.contains(event.target as Node) === true) return;
    this.hide();
    if (element !== null && isWordOnly(event.target)) this.open(element, { x: event.clientX, y: event.clientY });
  };

  private readonly onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") this.hide();
  };

  /** The pointer moves within what is explained; an explained part of it has its own. */
  private isOpenAround(target: EventTarget | null, element: HTMLElement | null): boolean {
    const open = this.element;
    return open?.contains(target as Node) === true && (element === null || !open.contains(element));
  }

  private open(element: HTMLElement, place: Place): void {
    this.hide();
    if (!element.isConnected || element.title === "") return;
    this.element = element;
    this.title = element.title;
    element.setAttribute("aria-description", this.title);
    element.removeAttribute("title");
    this.show({ text: this.title, place });
  }

  private readonly hide = (): void => {
    window.clearTimeout(this.timer);
    const { element } = this;
    if (element === null) return;
    this.element = null;
    element.removeAttribute("aria-description");
    // A newer one was put there meanwhile.
    if (!element.hasAttribute("title")) element.title = this.title;
    this.show(null);
  };
}

function titledAround(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>("[title]:not([title=''], iframe)") : null;
}

/** A tap on a button or a link does what that is for; an explained word is for nothing else. */
function isWordOnly(target: EventTarget | null): boolean {
  const control = target instanceof Element ? target.closest("button, a, select, input, tr.choice") : null;
  return control === null || control.classList.contains("explained");
}
