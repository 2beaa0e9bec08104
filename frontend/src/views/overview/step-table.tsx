import { useSignal } from "@preact/signals";
import type { Step, Steps } from "../../contract/report";
import { chooseTimeUnit, exactUs, inUnit } from "../../model/format";
import { capitalised } from "../../model/sentence";
import { type StepPart, stackKeys, stepStack } from "../../model/steps";
import { DataTable, Rows, Th } from "../../ui/data-table";

/** Columns of the table: what the bars and the line show. */
function tableColumns(step: Step, waitKnown: boolean, keys: readonly Omit<StepPart, "us">[]): StepPart[] {
  const stack = new Map(stepStack(step, waitKnown).map((part) => [part.key, part.us]));
  return [
    { key: "duration", label: "Duration", token: "step", us: step.duration_us },
    ...(waitKnown ? [{ key: "wait", label: "Data wait", token: "wait", us: step.data_wait_us ?? 0 }] : []),
    ...keys
      .filter(({ key }) => key !== "wait" && key !== "step")
      .map((part) => ({ ...part, us: stack.get(part.key) ?? 0 })),
  ];
}

/** The chart's numbers for those who cannot see or hover it. */
export function StepTable({ steps, waitKnown }: { steps: Steps; waitKnown: boolean }) {
  const open = useSignal(false);
  const unit = chooseTimeUnit(steps.items.map((step) => step.duration_us));
  const [first] = steps.items;
  const keys = stackKeys(steps.items, waitKnown);
  return (
    <details
      open={open.value}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}>
      <summary>Steps as a table</summary>
      {open.value && first !== undefined && (
        <DataTable name="Steps" class="steps-table">
          <thead>
            <tr>
              <Th column="step" label="Step" numeric={false} />
              {tableColumns(first, waitKnown, keys).map((part) => (
                <Th key={part.key} column={part.key} label={capitalised(part.label)} unit={unit} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Rows>
              {steps.items.map((step) => (
                <tr key={step.number} data-testid="step-row" data-step={step.number}>
                  <th scope="row" data-value={step.number}>
                    {step.number}
                  </th>
                  {tableColumns(step, waitKnown, keys).map(({ key, us }) => (
                    <td key={key} class="num" data-column={key} data-value-us={us} title={exactUs(us)}>
                      {inUnit(us, unit)}
                    </td>
                  ))}
                </tr>
              ))}
            </Rows>
          </tbody>
        </DataTable>
      )}
    </details>
  );
}
