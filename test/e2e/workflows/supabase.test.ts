import { describe } from 'vitest';
import { hasPgBouncer } from '../../helpers/pgbouncer.ts';
import { describeFollowUps } from './follow-up-scenarios.ts';
import { supabase } from './supabase-example.ts';

describe.skipIf(!hasPgBouncer)('with pgbouncer on the PATH', () => {
  describeFollowUps(supabase);
});
