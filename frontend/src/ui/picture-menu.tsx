import { createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import { copyInWords } from "./copy";
import { Menu } from "./menu";
import { asPng, figureAsSvg } from "./picture";
import { fileName, savedWords, saveFile, saving } from "./save";

/** What the figures and tables of a view are of. */
export type Subject = {
  /** Begins the name of a file. */
  readonly name: string;
  /** "steps 3 to 7": the only ones; "" for all. */
  readonly steps: string;
  /** All that a picture says of it. */
  readonly words: string;
};

export function allOf(name: string): Subject {
  return { name, steps: "", words: name };
}

/** Which saved ones say; null: each by its own name. */
export const PictureOf = createContext<Subject | null>(null);

/** Saves the figure that it stands in. */
export function PictureMenu({ name }: { name: string }) {
  const ref = useRef<HTMLSpanElement>(null);
  const of = useContext(PictureOf);
  const svg = (): string => {
    const figure = ref.current?.closest<HTMLElement>("figure, section");
    const hasTitle = figure?.querySelector("h1, h2, h3") !== null;
    return figureAsSvg(figure ?? document.body, hasTitle ? "" : name, of?.words ?? name);
  };
  const save = (content: string | Blob, suffix: "png" | "svg"): string => {
    saveFile(fileName(name, suffix, of), content, suffix === "png" ? "image/png" : "image/svg+xml");
    return savedWords("copy as SVG");
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
                return save(await asPng(svg()), "png");
              } catch {
                return "This browser cannot draw it; save as SVG";
              }
            },
          },
          {
            label: "Save as SVG",
            run: () => save(svg(), "svg"),
          },
          ...(saving() === "allowed" ? [] : [{ label: "Copy as SVG", run: () => copyInWords(svg()) }]),
        ]}
      />
    </span>
  );
}
