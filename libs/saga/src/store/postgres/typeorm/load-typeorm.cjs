// In CommonJS, which ES modules and CommonJS projects can import alike: it loads an optional package without waiting.
exports.loadTypeOrm = () => require('typeorm');
