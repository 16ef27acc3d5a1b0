// In CommonJS, which ES modules and CommonJS projects can import alike: it loads an optional package without waiting.
const { createRequire } = require('node:module');

// The cron that @nestjs/schedule itself uses, wherever the package manager has put it.
exports.loadCron = () => createRequire(require.resolve('@nestjs/schedule/package.json'))('cron');
