/** All that can happen next in a state. */

import { isSamePart, toPart } from './parts.ts';
import { listLooks, listPersonSteps } from './persons.ts';
import { listProcessSteps, listStarts } from './processes.ts';
import * as rules from './rules.ts';
import { listServiceSteps } from './service.ts';
import { type Budget, type Config, copy, LEASE, passTime, type Step, type World } from './world.ts';

/** Returns all that can happen next. */
export function listSteps(world: World, config: Config): Step[] {
  const steps: Step[] = [];
  const go = (label: string, run: (next: World) => string | undefined) => {
    const next = copy(world);
    const broken = run(next) ?? '';
    steps.push({ label, world: next, broken });
  };
  const context = { world, config, go };
  world.processes.forEach((process, index) => {
    if (world.processes.findIndex((other) => isSamePart(toPart(other), toPart(process))) < index) return;
    if (process) listProcessSteps(context, process, index);
    else listStarts(context, index);
  });
  world.flights.forEach((_, index) => {
    listServiceSteps(context, index);
  });
  world.persons.forEach((person, index) => {
    if (person) listPersonSteps(context, person, index);
    else if (world.persons.indexOf(null) === index && world.budget.decisions > 0) listLooks(context, index);
  });
  const { ticks, weeks, jumps } = world.budget;
  const spend = (next: World, name: keyof Budget) => {
    next.budget = { ...next.budget, [name]: next.budget[name] - 1 };
  };
  if (ticks > 0)
    go('time passes: leases are over', (next) => {
      spend(next, 'ticks');
      passTime(next, LEASE);
      return undefined;
    });
  if (weeks > 0)
    go('time passes: a week', (next) => {
      spend(next, 'weeks');
      passTime(next, rules.FOLLOWED_FOR);
      return undefined;
    });
  if (jumps > 0)
    go("the store's clock is set back", (next) => {
      spend(next, 'jumps');
      const { processes } = next;
      passTime(next, -LEASE);
      // A process measures its own lease by a clock that nobody sets.
      next.processes = next.processes.map((process, index) => {
        const before = processes[index];
        return process && before && 'until' in process && 'until' in before
          ? { ...process, until: before.until }
          : process;
      });
      return undefined;
    });
  return steps;
}
