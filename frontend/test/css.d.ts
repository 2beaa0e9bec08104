declare module "*.css?raw" {
  const text: string;
  export default text;
}

interface ImportMeta {
  glob(pattern: string, options: object): Record<string, string>;
}
