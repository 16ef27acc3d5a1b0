import { migrate as applyMigrations, missingParts } from '../../store/postgres/migrate.js';
import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { onDatabase } from '../operating.js';
import { CannotTell } from '../usage-error.js';
import { counted } from '../words.js';

export const migrate = command({
  words: 'migrate',
  operands: [],
  summary: "Makes the sagas' tables, or brings them up to date",
  details:
    'For applications with forRoot({ migrate: false }) whose role may not do it. Processes that start meanwhile wait. ' +
    'With --check it changes nothing, and ends with 1 if anything is missing.',
  examples: ['saga migrate --url postgres://owner@db/shop', 'saga migrate --check'],
  options: { ...DATABASE_OPTIONS, ...JSON_OPTION, check: option.flag('only says what is missing') },
  run: async ({ values, terminal }) =>
    onDatabase(values, terminal, async (dataSource, schema) => {
      if (values.check) {
        const missing = await missingParts(dataSource, schema);
        const text =
          missing.length === 0
            ? `Schema '${schema}' is up to date`
            : `Schema '${schema}' lacks ${missing.join(', ')}`;
        terminal.out(values.json ? JSON.stringify({ schema, missing }) : text);
        return missing.length === 0 ? EXIT.done : EXIT.refused;
      }
      const applied = await applyMigrations(dataSource, schema);
      const missing = await missingParts(dataSource, schema);
      if (missing.length > 0) {
        throw new CannotTell(
          `All migrations of schema '${schema}' are recorded as applied, and it lacks ${missing.join(', ')}: that was taken away by hand`,
          'SAGA_CONFIGURATION',
        );
      }
      const text =
        applied.length === 0
          ? `Schema '${schema}' was up to date`
          : `Applied ${counted(applied.length, 'migration')} to schema '${schema}': ${applied.join(', ')}`;
      terminal.out(values.json ? JSON.stringify({ schema, applied }) : text);
      return EXIT.done;
    }),
});
