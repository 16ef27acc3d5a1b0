import type { Command } from './command.js';
import { cleanup } from './commands/cleanup.js';
import { graphCommands } from './commands/graph.js';
import { init } from './commands/init.js';
import { list, tasks } from './commands/list.js';
import { migrate } from './commands/migrate.js';
import { operations } from './commands/operate.js';
import { postgres } from './commands/postgres.js';
import { lint, run } from './commands/run.js';
import { serve } from './commands/serve.js';
import { shardCommands } from './commands/shards.js';
import { history, show, watch } from './commands/show.js';
import { standingCommands } from './commands/standing.js';
import { start } from './commands/start.js';
import { stats } from './commands/stats.js';

/** All commands, in the order of their help. */
export const COMMANDS: readonly Command[] = [
  ...[list, tasks, show, watch, history, stats],
  start,
  ...operations,
  ...standingCommands,
  ...shardCommands,
  ...[run, serve, lint],
  ...graphCommands,
  ...[cleanup, migrate, init, postgres],
];
