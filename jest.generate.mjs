import config from './jest.config.mjs';

const [unit] = config.projects;

/** The specs that compare a generated file with its source, and write it for `npm run generate`. None needs a database. */
export default {
  ...unit,
  testRegex: [
    'docs/(?:daemon|declared-sagas|diagrams|options|shown-code|world-matrix)\\.spec\\.ts$',
    'libs/declared/src/format/json-schema\\.spec\\.ts$',
    'test/packaging/public-api\\.spec\\.ts$',
  ],
};
