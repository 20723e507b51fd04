import { useEffect, useState } from 'preact/hooks';

/** Changes when the colours of the page do. */
export function useAppearance(): string {
  const [appearance, setAppearance] = useState(appearanceNow);
  useEffect(() => {
    const look = () => setAppearance(appearanceNow());
    const system = matchMedia('(prefers-color-scheme: dark)');
    const chosen = new MutationObserver(look);
    system.addEventListener('change', look);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      system.removeEventListener('change', look);
      chosen.disconnect();
    };
  }, []);
  return appearance;
}

function appearanceNow(): string {
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  return document.documentElement.dataset.theme ?? (isDark ? 'dark' : 'light');
}
