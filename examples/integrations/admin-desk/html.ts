/** Markup in which every value was escaped. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

type Value = string | number | Html | readonly Html[];

/** Makes markup of a template. It escapes each value that is not markup itself. Quote every attribute. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toMarkup)));
}

function toMarkup(value: Value): string {
  if (typeof value === 'string') return escapeHtml(value);
  return typeof value === 'object' && !(value instanceof Html) ? value.join('') : String(value);
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
