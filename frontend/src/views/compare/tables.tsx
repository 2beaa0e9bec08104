import type { Quantity, SettingChange } from "../../contract/report";
import { chooseTimeUnit } from "../../model/format";
import { TimeCell } from "../../ui/cells";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Scroll } from "../../ui/scroll";
import { ChangeCell, IntervalCell, isSignificant, JUDGED, JudgedNote, OutcomeCell } from "./intervals";

type PartProps = {
  readonly parts: readonly Quantity[];
  readonly title: string;
  /** What the name of each part begins with, and the title says already. */
  readonly prefix?: string;
};

/** Parts of the time, or of the data wait, in the report's order. */
export function PartTable({ parts, title, prefix = "" }: PartProps) {
  if (parts.length === 0) return null;
  const common = commonWords(parts);
  const unit = chooseTimeUnit(parts.flatMap((part) => [part.before_us, part.after_us]));
  return (
    <section>
      <h2>{title}</h2>
      {common !== null && (
        <p class="muted" data-testid="common-words">
          Whether any of them changed: {common}.
        </p>
      )}
      <Scroll label={title}>
        <DataTable name={title} class="stages compare-stages" testId="part-changes">
          <thead>
            <tr>
              <Th column="part" label="Part" numeric={false} />
              <Th column="before" label="Before" unit={unit} />
              <Th column="after" label="After" unit={unit} />
              {common === null && <Th column="change" label="Change" />}
              {common === null && <Th column="interval" label="95% interval" />}
              {common === null && <Th column="outcome" label="Outcome" numeric={false} title={JUDGED} />}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {parts.map((part) => (
                <tr
                  key={part.name}
                  data-testid="part-change"
                  data-part={part.name}
                  data-significant={isSignificant(part)}>
                  <th scope="row">{part.title.startsWith(prefix) ? part.title.slice(prefix.length) : part.title}</th>
                  <TimeCell us={part.before_us} unit={unit} reason="Not recorded before." />
                  <TimeCell us={part.after_us} unit={unit} reason="Not recorded after." />
                  {common === null && <ChangeCell quantity={part} />}
                  {common === null && <IntervalCell quantity={part} />}
                  {common === null && <OutcomeCell quantity={part} />}
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      </Scroll>
      <JudgedNote rows={parts} />
    </section>
  );
}

/** "unknown, needs repeated runs" where the rows say nothing else, each of them. */
function commonWords(parts: readonly Quantity[]): string | null {
  const [first] = parts;
  const isCommon = parts.every(
    ({ outcome, interval_text }) => outcome === "unknown" && interval_text === first?.interval_text,
  );
  return first === undefined || parts.length < 2 || !isCommon ? null : `unknown, ${first.interval_text}`;
}

export function SettingTable({ settings }: { settings: readonly SettingChange[] }) {
  return (
    <section>
      <h2>Settings that changed</h2>
      {settings.length === 0 ? (
        <p class="muted" data-testid="no-settings">
          No setting changed that was recorded on both sides.
        </p>
      ) : (
        <DataTable name="Settings that changed" class="settings" testId="setting-changes">
          <thead>
            <tr>
              <Th column="setting" label="Setting" numeric={false} />
              <Th column="before" label="Before" numeric={false} />
              <Th column="after" label="After" numeric={false} />
            </tr>
          </thead>
          <tbody>
            <Rows>
              {settings.map(({ name, title, before, after }) => (
                <tr key={name} data-testid="setting-change" data-setting={name}>
                  <th scope="row">{title}</th>
                  <td>{before}</td>
                  <td>{after}</td>
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      )}
    </section>
  );
}
