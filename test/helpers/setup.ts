import fc from 'fast-check';

// The config chooses the seed and prints it, so that a whole run can be repeated.
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED) });
