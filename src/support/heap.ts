/** An item of a {@link Heap}: the earliest `dueAt` comes first. `heapIndex` is -1 while it is in no heap. */
export interface HeapItem {
  dueAt: number;
  heapIndex: number;
}

/** A 4-ary heap. Each item knows its index, so that any item can be moved or removed. */
export class Heap<Item extends HeapItem> {
  readonly #items: Item[] = [];

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** Adds an item, or moves it to its new `dueAt`. */
  upsert(item: Item, dueAt: number): void {
    item.dueAt = dueAt;
    if (item.heapIndex === -1) item.heapIndex = this.#items.push(item) - 1;
    this.#siftUp(item);
    this.#siftDown(item);
  }

  remove(item: Item): void {
    if (item.heapIndex === -1) return;
    const last = this.#items.pop();
    const hole = item.heapIndex;
    item.heapIndex = -1;
    if (last === undefined || last === item) return;
    this.#place(last, hole);
    this.#siftUp(last);
    this.#siftDown(last);
  }

  #siftUp(item: Item): void {
    let { heapIndex } = item;
    while (heapIndex > 0) {
      const parentIndex = (heapIndex - 1) >> 2;
      const parent = this.#items[parentIndex];
      if (!parent || parent.dueAt <= item.dueAt) break;
      this.#place(parent, heapIndex);
      heapIndex = parentIndex;
    }
    this.#place(item, heapIndex);
  }

  #siftDown(item: Item): void {
    let { heapIndex } = item;
    for (;;) {
      const child = this.#getEarliestChild(heapIndex);
      if (!child || child.dueAt >= item.dueAt) break;
      const childIndex = child.heapIndex;
      this.#place(child, heapIndex);
      heapIndex = childIndex;
    }
    this.#place(item, heapIndex);
  }

  #getEarliestChild(parentIndex: number): Item | undefined {
    let earliest: Item | undefined;
    for (let index = 4 * parentIndex + 1; index <= 4 * parentIndex + 4; index++) {
      const child = this.#items[index];
      if (child && (!earliest || child.dueAt < earliest.dueAt)) earliest = child;
    }
    return earliest;
  }

  #place(item: Item, heapIndex: number): void {
    this.#items[heapIndex] = item;
    item.heapIndex = heapIndex;
  }
}
