import base from './jest.config.mjs';
const unit = { ...base.projects[0], runner: '/tmp/jlr/node_modules/jest-light-runner/src/index.js' };
export default { ...base, projects: [unit] };
