/** What an abort signal ends: a link in the list of its signal's members. */
export interface Abortable<Member> {
  abortGroup: AbortGroup<Member> | null;
  previous: Member | null;
  next: Member | null;
}

export interface AbortGroup<Member> {
  readonly signal: AbortSignal;
  readonly listener: () => void;
  first: Member | null;
}

/**
 * One listener for each distinct signal, however many members wait on it. A merchant gives one shutdown signal to every
 * wait, and Node compares each added listener with all listeners of its signal.
 */
export class SharedAbortListeners<Member extends Abortable<Member>> {
  readonly #groups = new Map<AbortSignal, AbortGroup<Member>>();
  readonly #end: (member: Member, aborted: Promise<never>) => void;

  /** `end` must make the member leave. It gets a promise that is rejected with the signal's reason, one for all. */
  constructor(end: (member: Member, aborted: Promise<never>) => void) {
    this.#end = end;
  }

  join(signal: AbortSignal, member: Member): void {
    const group = this.#groups.get(signal) ?? this.#addGroup(signal);
    member.abortGroup = group;
    member.next = group.first;
    if (group.first) group.first.previous = member;
    group.first = member;
  }

  #addGroup(signal: AbortSignal): AbortGroup<Member> {
    const group: AbortGroup<Member> = { signal, listener: () => this.#endAll(group), first: null };
    this.#groups.set(signal, group);
    signal.addEventListener('abort', group.listener, { once: true });
    return group;
  }

  #endAll(group: AbortGroup<Member>): void {
    const aborted = Promise.reject(group.signal.reason);
    while (group.first) this.#end(group.first, aborted);
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
}
