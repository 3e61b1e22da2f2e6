import type { Item } from "./types";

/** Items whose last token a client with readYourWrites keeps. */
export const TOKENS_MAX = 10_000;

/** The last consistency token of each item written, of the last so many items. */
export class Tokens {
  // A Map keeps the order of insertion: the first was written longest ago.
  private readonly tokens = new Map<string, string>();

  constructor(private readonly itemsMax = TOKENS_MAX) {}

  keep(item: Item, token: string): void {
    const key = keyOf(item);
    this.tokens.delete(key);
    this.tokens.set(key, token);
    if (this.tokens.size > this.itemsMax) this.tokens.delete(this.tokens.keys().next().value!);
  }

  /** The tokens of these items, each once. */
  of(items: Item[]): string[] {
    const keys = new Set(items.map(keyOf));
    return [...keys].flatMap((key) => this.tokens.get(key) ?? []);
  }
}

function keyOf(item: Item): string {
  return `${item.type}:${item.id}`;
}
