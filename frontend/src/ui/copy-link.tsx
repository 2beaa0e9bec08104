import { useSignal } from "@preact/signals";
import { copyText } from "./copy";

const SAID_MS = 2000;

/** A button that copies a link. Where the clipboard cannot be had, the link itself stands there, selected. */
export function CopyLink({ linkOf }: { linkOf: () => string }) {
  const said = useSignal("Copy link");
  const byHand = useSignal<string | null>(null);
  const copy = async (): Promise<void> => {
    const link = linkOf();
    const done = await copyText(link);
    byHand.value = done ? null : link;
    said.value = done ? "Link copied" : "Copy link";
    window.setTimeout(() => (said.value = "Copy link"), SAID_MS);
  };
  if (byHand.value !== null)
    return (
      <input
        class="link-by-hand"
        aria-label="Link to what is on screen"
        readOnly
        ref={(field) => field?.select()}
        value={byHand.value}
        onBlur={() => (byHand.value = null)}
      />
    );
  return (
    <button type="button" class="link" data-testid="copy-link" aria-live="polite" onClick={() => void copy()}>
      {said.value}
    </button>
  );
}
