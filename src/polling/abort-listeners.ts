/** What a signal can end: a link in the list of its signal's members. */
export interface Abortable<Self> {
  abortGroup: AbortGroup<Self> | null;
  previous: Self | null;
  next: Self | null;
}

/** All that one signal ends. */
export interface AbortGroup<Member> {
  readonly signal: AbortSignal;
  readonly listener: () => void;
  first: Member | null;
}

/**
 * One listener for each distinct signal, however many wait on it. A merchant gives one shutdown signal to every wait,
 * and Node looks through all listeners of a signal for each one that is added.
 */
export class SharedAbortListeners<Member extends Abortable<Member>> {
  readonly #groups = new Map<AbortSignal, AbortGroup<Member>>();
  readonly #end: (member: Member, reason: unknown) => void;

  /** `end` has to make the member leave. */
  constructor(end: (member: Member, reason: unknown) => void) {
    this.#end = end;
  }

  join(signal: AbortSignal, member: Member): void {
    const group = this.#groups.get(signal) ?? this.#listenTo(signal);
    member.abortGroup = group;
    member.next = group.first;
    if (group.first) group.first.previous = member;
    group.first = member;
  }

  leave(member: Member): void {
    const { abortGroup: group, previous, next } = member;
    if (!group) return;
    if (previous) previous.next = next;
    else group.first = next;
    if (next) next.previous = previous;
    member.abortGroup = member.previous = member.next = null;
    if (group.first) return;
    this.#groups.delete(group.signal);
    group.signal.removeEventListener('abort', group.listener);
  }

  #listenTo(signal: AbortSignal): AbortGroup<Member> {
    const group: AbortGroup<Member> = { signal, listener: () => this.#endAll(group), first: null };
    this.#groups.set(signal, group);
    signal.addEventListener('abort', group.listener, { once: true });
    return group;
  }

  #endAll(group: AbortGroup<Member>): void {
    while (group.first) this.#end(group.first, group.signal.reason);
  }
}
