import { type Flame, pathOf } from "../../model/flame";
import { chooseTimeUnit, formatCount, plural } from "../../model/format";
import { share } from "../../model/shares";
import { flameListed } from "../../state/atoms";
import { ShareCell, TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";

type Props = { readonly flame: Flame; readonly samples: (index: number) => number; readonly of: string };

/** The same frames as text, callers before what they call. */
export function FrameList({ flame, samples, of }: Props) {
  const isOpen = flameListed.value;
  const frames = flame.filter(({ value }) => value > 0);
  return (
    <details
      class="frame-list"
      open={isOpen}
      onToggle={(event) => {
        flameListed.value = event.currentTarget.open;
      }}>
      <summary>The same as a list ({plural(frames.length, "frame")})</summary>
      {isOpen && <Table flame={flame} frames={frames} samples={samples} of={of} wholeUs={flame[0]?.value ?? 0} />}
    </details>
  );
}

type TableProps = {
  readonly flame: Flame;
  readonly frames: Flame;
  readonly samples: (index: number) => number;
  /** "of data wait" */
  readonly of: string;
  readonly wholeUs: number;
};

function Table({ flame, frames, samples, of, wholeUs }: TableProps) {
  const unit = chooseTimeUnit(frames.map(({ value }) => value));
  return (
    <div class="scroll-x">
      <DataTable name="Frames of the flame graph" testId="frame-list">
        <thead>
          <tr>
            <Th column="function" label="Function" numeric={false} />
            <Th column="line" label="Line" numeric={false} />
            <Th column="total" label="Total" unit={unit} />
            <Th column="share" label={of} />
            <Th column="self" label="Self" unit={unit} />
            <Th column="samples" label="Samples" />
          </tr>
        </thead>
        <tbody>
          <Rows>
            {frames.map((frame) => (
              <tr key={frame.index}>
                <th scope="row" data-copied={pathOf(flame, frame)}>
                  <span class="stage-cell" style={{ "--depth": String(Math.min(frame.depth, 24)) }}>
                    <span class="offscreen">level {frame.depth + 1}: </span>
                    {frame.name}
                  </span>
                </th>
                <td class="mono">{frame.place}</td>
                <TimeCell us={frame.value} unit={unit} reason="" />
                <ShareCell share={share(frame.value, wholeUs)} />
                <TimeCell us={frame.own} unit={unit} reason="" />
                <td class="num" data-value={samples(frame.index)}>
                  {formatCount(samples(frame.index))}
                </td>
              </tr>
            ))}
          </Rows>
        </tbody>
      </DataTable>
    </div>
  );
}
