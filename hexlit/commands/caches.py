"""Where what can be computed again is kept between runs."""

from hexlit.files import cache_folder as cache_folder
