"""How far the last moments of a step tell the next steps: a slope for each lead, learned from a forecaster's errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

_HIGHEST_LOOK = 0.5


@dataclass(frozen=True, slots=True)
class Latest:
    """Corrects forecasts by slope * look, where a look is the last moments' rate over the whole step's, less one.

    The slope of a lead is that of least squares between past looks and what forecasts then missed, older ones fading
    with `pace`; it starts at 0, lies within 0 to 1, and looks smaller than `usual_look` hardly move it.
    """

    leads: int = 10
    pace: float = 0.05
    usual_look: float = 0.03
    products: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()
    said: tuple[tuple[float, ...], ...] = ()  # said[a]: the forecast of a steps ago, uncorrected
    looks: tuple[float, ...] = ()

    def learn(self, value: float, forecast: tuple[float, ...], latest: float | None) -> Latest:
        """After a step with rate `value`, and `latest` in its last moments; `forecast` is of the next ones."""
        products, squares = list(self.products), list(self.squares)
        for lead, (before, look) in enumerate(zip(self.said, self.looks, strict=True)):
            if lead == len(products):
                products.append(0.0)
                squares.append(self.usual_look**2)
            missed = _share(value, before[lead])
            products[lead] += self.pace * (look * missed - products[lead])
            squares[lead] += self.pace * (max(look**2, self.usual_look**2) - squares[lead])
        look = 0.0 if latest is None else _share(latest, value)
        return replace(
            self,
            products=tuple(products),
            squares=tuple(squares),
            said=(forecast, *self.said)[: self.leads],
            looks=(look, *self.looks)[: self.leads],
        )

    def corrected(self, forecast: tuple[float, ...]) -> tuple[float, ...]:
        """The forecast after the last look; beyond the last lead as there."""
        if not self.looks or not self.products:
            return forecast
        slopes = [min(max(p / s, 0.0), 1.0) for p, s in zip(self.products, self.squares, strict=True)]
        return tuple(v * (1 + slopes[min(i, len(slopes) - 1)] * self.looks[0]) for i, v in enumerate(forecast))


def _share(value: float, of: float) -> float:
    return min(max(value / of - 1, -_HIGHEST_LOOK), _HIGHEST_LOOK) if of > 0 else 0.0
