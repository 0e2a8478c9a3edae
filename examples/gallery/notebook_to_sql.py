"""
From the notebook to SQL
========================

A model becomes a view in the database: no Python there, no service, and the same numbers. The table is
Fair's survey of 1974 (it ships with statsmodels); the database is SQLite, which ships with Python.
"""

import sqlite3
import textwrap

import numpy as np
import pandas as pd
import statsmodels.api as sm

from glassleaf import ModelTreeClassifier
from glassleaf.export import to_sql

survey = sm.datasets.fair.load_pandas().data
answer = np.where(survey.pop("affairs") > 0, "yes", "no")
survey = survey.rename(
    columns={
        "rate_marriage": "happiness",
        "yrs_married": "years_married",
        "educ": "education",
        "occupation_husb": "occupation_husband",
    }
)
survey.head(3)

# %%
# The model
# ---------
# 6,366 women answered whether they ever had an affair.
model = ModelTreeClassifier(max_numbers=15, positive_class="yes").fit(survey, answer)
model

# %%
# As SQL
# ------
sql = to_sql(model, dialect="sqlite", table="survey")
print("\n".join(textwrap.shorten(line, 110, placeholder=" ...") for line in sql.splitlines()))

# %%
# In the database
# ---------------
with sqlite3.connect(":memory:") as database:
    survey.to_sql("survey", database, index=False)
    database.executescript(sql)
    scored = pd.read_sql("SELECT * FROM scored", database)
scored.iloc[:3, -4:]

# %%
# The same numbers
# ----------------
in_database = scored["probability_1"]  # of "yes", as the comment in the SQL says
apart = np.abs(in_database - model.predict_proba(survey)[:, 1]).max()
print(f"largest difference on {len(scored):,} rows: {apart:.1e}")
