import { accepted, type Stories } from '../story.ts';

export const migrate: Stories = { 'docs/guides/migrate.md, Migrate to this package': [accepted] };
