import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import { note } from '../../../helpers/resolution-note.ts';
import { createTempFolder } from '../../../helpers/temp-folder.ts';
import { seededRandom } from '../plan.ts';
import { startTlsService, type Visit } from './service.ts';
import { startShop, type TransportName } from './shop.ts';

/** When the process is stopped: before it can have connected, at any time around that, or once the charge has arrived, whose response is then written. */
type Moment = 'connecting' | 'random' | 'arrived';

/** What is over when it continues. Of a lease, a person has then recorded that nothing was charged. */
type Limit = 'timeout' | 'lease';

interface Freeze {
  readonly key: string;
  readonly moment: Moment;
  readonly limit: Limit;
  /** Whether the charge had left when the process was stopped. */
  readonly hadLeft: boolean;
  /** `made`, or the code of the error. */
  readonly end: string;
}

/** In milliseconds. */
const LIMIT = 250;
/** The limit of a charge that must have arrived before the process is stopped. */
const TIME_TO_ARRIVE = 1_500;
const NO_LIMIT = 60_000;
/** How much longer than its limit a process is stopped. */
const MARGIN = 100;

/** The turns of this process's event loop until it stops the other at random: TLS takes about half of them. */
const MAX_TURNS = 3_000;

/** A run fails by this if no freeze ever comes in time. */
const MAX_TRIES = 2_000;

export type Counts = readonly (readonly [Limit, Moment, number])[];

/** Freezes one process that charges over a transport. Returns each freeze, and how often its charge arrived. */
export async function freezeCharges(transport: TransportName, counts: Counts) {
  const folder = createTempFolder();
  const service = await startTlsService();
  writeFileSync(`${folder.path}/ca.pem`, service.ca);
  const shop = await startShop(transport, service.baseUrl, folder.path);
  const database = new DatabaseSync(`${folder.path}/journal.db`);
  const journal = sqliteJournal(database, { lease: LIMIT });

  /** Brings a charge to the moment at which its process is stopped. */
  const reach: Record<Moment, (visit: Visit, socket: Socket, key: string) => Promise<unknown>> = {
    connecting: async () => {},
    async random(_visit, socket, key) {
      service.shakeHands(socket);
      const turns = MAX_TURNS * seededRandom(process.env.PROPERTY_SEED ?? '', transport, key);
      for (let turn = 0; turn < turns; turn++) await nextTurn();
    },
    arrived(visit, socket) {
      service.shakeHands(socket);
      return visit.arrived.promise;
    },
  };

  /** Whether the process was stopped while it wrote its record. Until it continues, nobody else can write. */
  function isWriting(): boolean {
    try {
      database.exec('BEGIN IMMEDIATE; ROLLBACK');
      return false;
    } catch {
      return true;
    }
  }

  /** What comes to a stopped process until it continues. Returns `false` if nothing can be recorded about its charge. */
  async function waitForLimit(key: string, limit: Limit, time: number): Promise<boolean> {
    if (limit === 'lease' && isWriting()) return false;
    await sleep(time + MARGIN);
    if (limit === 'timeout') return true;
    return journal.resolve(key, 'not_charged', note).then(
      () => true,
      () => false,
    );
  }

  /** Returns `undefined` if the machine was too slow to stop the process in time. */
  async function freezeOne(key: string, limit: Limit, moment: Moment): Promise<Freeze | undefined> {
    const time = moment === 'arrived' ? TIME_TO_ARRIVE : LIMIT;
    const visit = service.awaitVisit();
    if (moment !== 'arrived') visit.released.resolve();
    const startedAt = performance.now();
    const ended = shop.charge({ key, timeout: NO_LIMIT, lease: NO_LIMIT, [limit]: time });
    const tooEarly = ended.then(() => undefined);
    const socket = await Promise.race([visit.connected.promise, tooEarly]);
    if (!socket) return undefined;
    await Promise.race([reach[moment](visit, socket, key), tooEarly]);
    const steps = await shop.freeze(key);
    const isInTime = performance.now() - startedAt < time && steps.has('sending') && !steps.has('ended');
    if (moment === 'connecting') service.shakeHands(socket);
    visit.released.resolve();
    const isLimitOver = isInTime && (await waitForLimit(key, limit, time));
    const counts = isLimitOver && (moment !== 'arrived' || visit.isResponded);
    shop.thaw();
    const end = await ended;
    await service.closeConnections();
    return counts ? { key, moment, limit, hadLeft: steps.has('left'), end } : undefined;
  }

  try {
    const freezes: Freeze[] = [];
    for (const [limit, moment, count] of counts) {
      const found: Freeze[] = [];
      for (let tries = 1; found.length < count; tries++) {
        if (tries > MAX_TRIES) throw new Error(`No freeze came in time: ${limit}, ${moment}.`);
        const freeze = await freezeOne(`${limit}-${moment}-${tries}`, limit, moment);
        if (freeze) found.push(freeze);
      }
      freezes.push(...found);
    }
    await shop.leave();
    await service.stop();
    const { arrivals } = service;
    return freezes.map((freeze) => ({
      ...freeze,
      arrivals: arrivals.filter((key) => key === freeze.key).length,
    }));
  } finally {
    shop.kill();
    database.close();
    folder.remove();
  }
}
