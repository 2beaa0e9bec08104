import type { Quantity, SettingChange } from "../../contract/report";
import { chooseTimeUnit, formatChange } from "../../model/format";
import { TimeCell } from "../../ui/cells";
import { Unknown } from "../../ui/numbers";
import { Scroll } from "../../ui/scroll";
import { IntervalCell, isSignificant, OutcomeCell } from "./intervals";

/** Parts of the time, or of the data wait, in the report's order. */
export function PartTable({ parts, title }: { parts: readonly Quantity[]; title: string }) {
  if (parts.length === 0) return null;
  const unit = chooseTimeUnit(parts.flatMap((part) => [part.before_us, part.after_us]));
  return (
    <section>
      <h2>{title}</h2>
      <Scroll label={title}>
        <table class="stages compare-stages" data-testid="part-changes">
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col" class="num">
                Before<span class="unit">, {unit}</span>
              </th>
              <th scope="col" class="num">
                After<span class="unit">, {unit}</span>
              </th>
              <th scope="col" class="num">
                Change
              </th>
              <th scope="col" class="num">
                95% interval
              </th>
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {parts.map((part) => (
              <tr
                key={part.name}
                data-testid="part-change"
                data-part={part.name}
                data-significant={isSignificant(part)}>
                <th scope="row">{part.title}</th>
                <TimeCell us={part.before_us} unit={unit} reason="Not recorded before." />
                <TimeCell us={part.after_us} unit={unit} reason="Not recorded after." />
                <td class="num" data-value={part.change}>
                  {part.change === undefined ? <Unknown reason={part.interval_text} /> : formatChange(part.change)}
                </td>
                <IntervalCell quantity={part} />
                <OutcomeCell quantity={part} />
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

export function SettingTable({ settings }: { settings: readonly SettingChange[] }) {
  return (
    <section>
      <h2>Settings that changed</h2>
      {settings.length === 0 ? (
        <p class="muted" data-testid="no-settings">
          No recorded setting changed.
        </p>
      ) : (
        <table class="settings" data-testid="setting-changes">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {settings.map(({ name, title, before, after }) => (
              <tr key={name} data-testid="setting-change" data-setting={name}>
                <th scope="row">{title}</th>
                <td>{before}</td>
                <td>{after}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
