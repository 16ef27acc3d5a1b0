import { describePromises } from '../../../../test/oracle/describe-promises.js';

// As many as an answer within a minute allows; graph.properties.slow.spec.ts plays more.
/** More of them: GRAPH_RUNS=100000; others: GRAPH_SEED, with the seed of a message the same again. */
describePromises({ runs: Number(process.env.GRAPH_RUNS ?? 150), seed: Number(process.env.GRAPH_SEED ?? 1) });
