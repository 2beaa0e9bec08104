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
};

/** A column head that sorts; says so to a screen reader. */
export function SortHeader(props: Props) {
  const order = props.active ? (props.descending ? "descending" : "ascending") : "none";
  return (
    <th scope="col" class={props.numeric === false ? "" : "num"} aria-sort={order} data-head={props.name}>
      <button type="button" class="sort" title={props.title ?? meaningOfTerm(props.label)} onClick={props.onSort}>
        {props.active && (
          <span class="sort-mark" aria-hidden="true">
            {props.descending ? "↓" : "↑"}
          </span>
        )}
        {props.label}
        {props.unit !== undefined && <span class="unit">, {props.unit}</span>}
      </button>
    </th>
  );
}
