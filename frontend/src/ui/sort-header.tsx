import { meaningOfTerm } from "../model/terms";

type Props = {
  readonly label: string;
  readonly unit?: string;
  readonly title?: string;
  readonly name?: string;
  readonly active: boolean;
  readonly descending: boolean;
  readonly numeric?: boolean;
  readonly onSort: () => void;
  /** A column that has no room of its own where its values stand below this one's. */
  readonly below?: Props;
};

/** A column head that sorts; says so to a screen reader. */
export function SortHeader(props: Props) {
  const order = props.active ? (props.descending ? "descending" : "ascending") : "none";
  return (
    <th
      scope="col"
      class={props.numeric === false ? "" : "num"}
      aria-sort={order}
      data-head={props.name}
      data-text={props.below && props.label}>
      <SortButton {...props} />
      {props.below && (
        <span class="head-below">
          <SortButton {...props.below} />
        </span>
      )}
    </th>
  );
}

function SortButton({ label, unit, title, active, descending, onSort }: Props) {
  return (
    <button type="button" class="sort" title={title ?? meaningOfTerm(label)} onClick={onSort}>
      {active && (
        <span class="sort-mark" aria-hidden="true">
          {descending ? "↓" : "↑"}
        </span>
      )}
      {label}
      {unit !== undefined && <span class="unit">, {unit}</span>}
    </button>
  );
}
