'use strict';
// CommonJS, for what an ES module says by `import.meta`: Jest of a CommonJS project compiles this package to CommonJS, which
// has no such thing.

/** The folder of this file, in which the dashboard is. */
exports.FOLDER = __dirname;

/** @throws when the package is not installed */
exports.requireSwagger = () => require('@nestjs/swagger');
