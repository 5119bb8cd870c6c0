/** What a {@link Heap} orders: by `due`, the earliest first. `slot` is its place there, -1 while it has none. */
export interface HeapItem {
  dueAt: number;
  heapIndex: number;
}

/** A 4-ary heap that knows where each item is, so that any item can be moved or taken out. */
export class Heap<Item extends HeapItem> {
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
  upsert(item: Item, dueAt: number): void {
    item.dueAt = dueAt;
    if (item.heapIndex === -1) item.heapIndex = this.#items.push(item) - 1;
    this.#up(item);
    this.#down(item);
  }

  remove(item: Item): void {
    if (item.heapIndex === -1) return;
    const last = this.#items.pop();
    const hole = item.heapIndex;
    item.heapIndex = -1;
    if (last === undefined || last === item) return;
    this.#place(last, hole);
    this.#up(last);
    this.#down(last);
  }

  #place(item: Item, heapIndex: number): void {
    this.#items[heapIndex] = item;
    item.heapIndex = heapIndex;
  }

  #up(item: Item): void {
    let { heapIndex } = item;
    while (heapIndex > 0) {
      const above = (heapIndex - 1) >> 2;
      const parent = this.#items[above];
      if (!parent || parent.dueAt <= item.dueAt) break;
      this.#place(parent, heapIndex);
      heapIndex = above;
    }
    this.#place(item, heapIndex);
  }

  #down(item: Item): void {
    let { heapIndex } = item;
    for (;;) {
      const child = this.#earliestBelow(heapIndex);
      if (!child || child.dueAt >= item.dueAt) break;
      const below = child.heapIndex;
      this.#place(child, heapIndex);
      heapIndex = below;
    }
    this.#place(item, heapIndex);
  }

  #earliestBelow(heapIndex: number): Item | undefined {
    let earliest: Item | undefined;
    for (let below = 4 * heapIndex + 1; below <= 4 * heapIndex + 4; below++) {
      const child = this.#items[below];
      if (child && (!earliest || child.dueAt < earliest.dueAt)) earliest = child;
    }
    return earliest;
  }
}
