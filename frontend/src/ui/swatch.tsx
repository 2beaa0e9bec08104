import { cssColor, isHatched } from "../theme/tokens";

/** Fill of a bar or legend key: colour, and a hatch where colour alone is not enough. */
export function fillStyle(token: string): Record<string, string> {
  return { "--fill": cssColor(token) };
}

export function fillClass(token: string): string {
  return isHatched(token) ? "fill hatched" : "fill";
}

export function Swatch({ token }: { token: string }) {
  return <span class={`swatch ${fillClass(token)}`} style={fillStyle(token)} aria-hidden="true" />;
}

export function Legend({ items }: { items: ReadonlyArray<{ readonly token: string; readonly label: string }> }) {
  return (
    <ul class="legend">
      {items.map((item) => (
        <li key={item.label}>
          <Swatch token={item.token} />
          {item.label}
        </li>
      ))}
    </ul>
  );
}
