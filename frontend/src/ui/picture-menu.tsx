import { createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import { Menu } from "./menu";
import { asPng, figureAsSvg } from "./picture";
import { fileName, saveFile } from "./save";

/** What the figures and tables of a view are of, which a saved one says; null: each by its own name. */
export const PictureOf = createContext<string | null>(null);

/** Saves the figure that it stands in. */
export function PictureMenu({ name }: { name: string }) {
  const ref = useRef<HTMLSpanElement>(null);
  const of = useContext(PictureOf);
  const svg = (): string => {
    const figure = ref.current?.closest<HTMLElement>("figure, section");
    const hasTitle = figure?.querySelector("h1, h2, h3") !== null;
    return figureAsSvg(figure ?? document.body, hasTitle ? "" : name, of ?? name);
  };
  return (
    <span ref={ref} class="picture-menu">
      <Menu
        label="Save picture"
        of={name}
        testId="picture-menu"
        items={[
          {
            label: "Save as PNG",
            run: async () => {
              try {
                saveFile(fileName(name, "png", of), await asPng(svg()), "image/png");
                return "Saved";
              } catch {
                return "This browser cannot draw it; save as SVG";
              }
            },
          },
          {
            label: "Save as SVG",
            run: () => {
              saveFile(fileName(name, "svg", of), svg(), "image/svg+xml");
              return "Saved";
            },
          },
        ]}
      />
    </span>
  );
}
