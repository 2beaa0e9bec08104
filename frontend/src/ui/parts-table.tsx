import type { Part } from "../model/causes";
import { chooseTimeUnit } from "../model/format";
import { share } from "../model/shares";
import { ShareCell, TimeCell } from "./cells";
import { DataTable, Rows, Th } from "./data-table";
import { Explained } from "./explained";
import { StageRef } from "./stage-ref";
import { fillClass, fillStyle } from "./swatch";

type Props = {
  readonly caption: string;
  readonly parts: readonly Part[];
  readonly wholeUs: number;
  /** "of the idle time" */
  readonly of: string;
  /** What stands below the caption. */
  readonly note?: string | undefined;
  readonly testId: string;
};

/** A small table with a bar per row: how a whole divides into parts. */
export function PartsTable({ caption, parts, wholeUs, of, note, testId }: Props) {
  const unit = chooseTimeUnit(parts.map((part) => part.us));
  const largest = Math.max(1e-9, ...parts.map((part) => part.us));
  return (
    <div class="parts-box">
      <DataTable name={caption} class="parts" testId={testId}>
        <caption>
          {caption}
          {note !== undefined && <p class="muted">{note}</p>}
        </caption>
        <thead>
          <tr>
            <Th column="what" label="What" numeric={false} />
            <th scope="col">
              <span class="offscreen">Bar</span>
            </th>
            <Th column="us" label="Time" unit={unit} />
            <Th column="share" label={of} />
          </tr>
        </thead>
        <tbody>
          <Rows>
            {parts.map((part) => (
              <tr key={part.name}>
                <th scope="row" class="parts-name">
                  {part.meaning ? (
                    <Explained text={part.meaning}>{part.name}</Explained>
                  ) : (
                    <StageRef name={part.name} />
                  )}
                </th>
                <td class="parts-bar">
                  <span
                    class={`bar ${fillClass(part.token)}`}
                    style={{ ...fillStyle(part.token), width: `${(100 * part.us) / largest}%` }}
                  />
                </td>
                <TimeCell us={part.us} unit={unit} reason="" />
                <ShareCell share={share(part.us, wholeUs)} />
              </tr>
            ))}
          </Rows>
        </tbody>
      </DataTable>
    </div>
  );
}
