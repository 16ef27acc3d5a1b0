import type { Command } from './command.js';
import { cleanup } from './commands/cleanup.js';
import { diagram } from './commands/diagram.js';
import { graphAccept } from './commands/graph-accept.js';
import { graphDiff } from './commands/graph-diff.js';
import { history } from './commands/history.js';
import { init } from './commands/init.js';
import { lint } from './commands/lint.js';
import { list } from './commands/list.js';
import { migrate } from './commands/migrate.js';
import { operations } from './commands/operate.js';
import { postgres } from './commands/postgres.js';
import { run } from './commands/run.js';
import { scheduleCommands } from './commands/schedules.js';
import { stepPauseCommands } from './commands/step-pauses.js';
import { serve } from './commands/serve.js';
import { shardCommands } from './commands/shards.js';
import { show } from './commands/show.js';
import { start } from './commands/start.js';
import { stats } from './commands/stats.js';
import { tasks } from './commands/tasks.js';
import { watch } from './commands/watch.js';

/** All commands, in the order of their help. */
export const COMMANDS: readonly Command[] = [
  ...[list, tasks, show, watch, history, stats],
  start,
  ...operations,
  ...stepPauseCommands,
  ...scheduleCommands,
  ...shardCommands,
  ...[run, serve, lint],
  ...[diagram, graphDiff, graphAccept, cleanup, migrate, init, postgres],
];
