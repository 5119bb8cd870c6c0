/** What a {@link Heap} orders: by `due`, the earliest first. `slot` is its place there, -1 while it has none. */
export interface Timed {
  due: number;
  slot: number;
}

/** A 4-ary heap that knows where each item is, so that any item can be moved or taken out. */
export class Heap<Item extends Timed> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** Any item: `random` is a number from 0 up to 1. */
  any(random: number): Item | undefined {
    return this.#items[Math.floor(random * this.#items.length)];
  }

  /** Puts an item in, or to its new place after its `due` has changed. */
  put(item: Item, due: number): void {
    item.due = due;
    if (item.slot === -1) item.slot = this.#items.push(item) - 1;
    this.#up(item);
    this.#down(item);
  }

  remove(item: Item): void {
    if (item.slot === -1) return;
    const last = this.#items.pop();
    const hole = item.slot;
    item.slot = -1;
    if (last === undefined || last === item) return;
    this.#place(last, hole);
    this.#up(last);
    this.#down(last);
  }

  #place(item: Item, slot: number): void {
    this.#items[slot] = item;
    item.slot = slot;
  }

  #up(item: Item): void {
    let { slot } = item;
    while (slot > 0) {
      const above = (slot - 1) >> 2;
      const parent = this.#items[above];
      if (!parent || parent.due <= item.due) break;
      this.#place(parent, slot);
      slot = above;
    }
    this.#place(item, slot);
  }

  #down(item: Item): void {
    let { slot } = item;
    for (;;) {
      const child = this.#earliestBelow(slot);
      if (!child || child.due >= item.due) break;
      const below = child.slot;
      this.#place(child, slot);
      slot = below;
    }
    this.#place(item, slot);
  }

  #earliestBelow(slot: number): Item | undefined {
    let earliest: Item | undefined;
    for (let below = 4 * slot + 1; below <= 4 * slot + 4; below++) {
      const child = this.#items[below];
      if (child && (!earliest || child.due < earliest.due)) earliest = child;
    }
    return earliest;
  }
}
