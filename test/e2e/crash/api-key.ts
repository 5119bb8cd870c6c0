/** The key of every process. It must be in no record. */
export const API_KEY = 'sk_test_crashproof';
