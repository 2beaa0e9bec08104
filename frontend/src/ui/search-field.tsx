import type { Signal } from "@preact/signals";
import { formatCount } from "../model/format";

type Props = {
  readonly label: string;
  readonly text: Signal<string>;
  /** How many rows are left, of how many. */
  readonly shown: number;
  readonly all: number;
};

/** Narrows what stands below it while one types; Escape empties it. */
export function SearchField({ label, text, shown, all }: Props) {
  return (
    <span class="search">
      <input
        type="search"
        placeholder={label}
        aria-label={label}
        data-testid="search"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || text.value === "") return;
          event.stopPropagation();
          text.value = "";
        }}
      />
      {text.value.trim() !== "" && (
        <span class="muted" role="status" data-testid="search-count">
          {shown === 0 ? "Nothing has these words." : `${formatCount(shown)} of ${formatCount(all)}`}
        </span>
      )}
      {text.value.trim() !== "" && shown === 0 && (
        <button type="button" class="link" data-testid="clear-search" onClick={() => (text.value = "")}>
          Clear
        </button>
      )}
    </span>
  );
}
