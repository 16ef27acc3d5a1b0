import DefaultTheme from 'vitepress/theme';
import SagaDiagram from './SagaDiagram.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('SagaDiagram', SagaDiagram);
  },
};
