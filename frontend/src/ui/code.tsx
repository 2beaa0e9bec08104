import { useSignal } from "@preact/signals";
import { copyText } from "./copy";

const SAID_MS = 2000;

/** Code to type, with a button that copies it. */
export function Code({ text, testId }: { text: string; testId?: string }) {
  const said = useSignal("Copy");
  const copy = async (): Promise<void> => {
    said.value = (await copyText(text)) ? "Copied" : "Select and copy by hand";
    window.setTimeout(() => (said.value = "Copy"), SAID_MS);
  };
  return (
    <div class="code" data-testid={testId}>
      <pre>
        <code>{text}</code>
      </pre>
      <button type="button" class="link" aria-live="polite" onClick={() => void copy()}>
        {said.value}
      </button>
    </div>
  );
}
